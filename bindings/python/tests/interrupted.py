"""Interrupts one use of a queue at each point where CPython handles signals, one point at a time.

After each, the queue has to run what comes next.
"""

from __future__ import annotations

import asyncio
import dis
import os
import sys
from collections.abc import Awaitable
from functools import cache
from types import CodeType, FrameType
from typing import Any, Callable

import inturn
from support import LIMIT, finish

_PACKAGE = os.path.dirname(inturn.__file__)  # noqa: PTH120
_CALLS = {dis.opmap[name] for name in dis.opmap if name.startswith("CALL")}
_FIRST = 2  # below it, RESUME is where a function begins; above it, where it goes on after an await


@cache
def _points(code: CodeType) -> frozenset[int]:
    """Where signals are handled: at the beginning, after calls, and when a loop goes on."""
    points, last = set(), -1
    for each in dis.get_instructions(code):
        if last in _CALLS or each.opname == "JUMP_BACKWARD":
            points.add(each.offset)
        last = each.opcode
    return frozenset(points)


class Interrupter:
    """Raises at one point of the package's code on this thread."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.place = ""  # where it has raised

    def _pass(self, frame: FrameType) -> None:
        self.left -= 1
        if self.left == -1:
            self.place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            raise KeyboardInterrupt

    def __call__(self, frame: FrameType, event: str, _: object) -> Interrupter | None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            return None
        if event == "call":
            frame.f_trace_opcodes = True
            begins, stage = code.co_code[frame.f_lasti : frame.f_lasti + 2]
            if begins == dis.opmap["RESUME"] and stage < _FIRST:
                self._pass(frame)
        elif event == "opcode" and frame.f_lasti in _points(code):
            self._pass(frame)
        return self


async def nothing() -> None:
    await asyncio.sleep(0)


async def block(queue: Any) -> None:
    async with queue:
        await nothing()


async def observed(_: Any) -> None:
    value, told = inturn.Value(0), []
    observation = value.observe(lambda change: told.append(change.new))
    try:
        value.set(1)
        value.set(2)
    finally:
        assert told == list(range(1, value.value + 1)), told
        observation.cancel()


USES: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "run": lambda queue: queue.run(nothing),
    "options": lambda queue: queue.options(label="a").run(nothing),
    "retry": lambda queue: queue.options(key="a", retry=inturn.Retry(2)).run(nothing),
    "block": block,
    "run_on": lambda queue: asyncio.wrap_future(queue.run_on(asyncio.get_running_loop(), nothing)),
    "submit": lambda queue: asyncio.wrap_future(queue.submit(int)),
    "retried": lambda queue: asyncio.wrap_future(queue.options(retry=inturn.Retry(2)).submit(int)),
    "enqueue": lambda queue: queue.enqueue(finish),
    "batch": lambda queue: queue.batch([finish, finish]),
    "value": observed,
}


def interrupt(queue: Any, use: Callable[[Any], Awaitable[Any]], number: int) -> str:
    """Returns the place; empty if there are fewer points."""
    loop, interrupter = asyncio.new_event_loop(), Interrupter(number)

    async def main() -> None:
        sys.settrace(interrupter)
        await use(queue)

    try:
        loop.run_until_complete(asyncio.wait_for(main(), LIMIT))
    except KeyboardInterrupt:
        assert interrupter.place
    finally:
        sys.settrace(None)
        loop.close()
    return interrupter.place


def run(kind: str, use: str, most: int) -> int:
    """Returns how many points there are, or `most`."""
    for number in range(most):
        queue = getattr(inturn, kind)()
        place = interrupt(queue, USES[use], number)
        try:
            assert queue.submit(int).result(LIMIT) == 0
        except BaseException as error:
            raise AssertionError(f"after an interrupt at {place}") from error
        if not place:
            return number
    return most
