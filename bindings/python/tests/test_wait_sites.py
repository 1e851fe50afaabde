"""The lines that wait, as snapshots name them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Callable

import pytest

import inturn
from inturn import EntryKind, FIFOQueue, Operation, Token
from support import LIMIT, finish

HERE = Path(__file__).read_text("utf-8").splitlines()


def line_of_wait(queue: FIFOQueue) -> str | None:
    """The text of the line that waits inside the queue, if one does; the empty one if it is not
    known."""
    entries = inturn.snapshot()
    own = next(entry.id for entry in entries if entry.label == queue.label)
    for entry in entries:
        if entry.kind is EntryKind.WAIT and entry.other == own:
            assert entry.file in (__file__, None)
            return HERE[entry.line - 1].strip() if entry.file else ""
    return None


BLOCKING: dict[str, Callable[[FIFOQueue, Operation], object]] = {
    "operation": lambda network, load: load.wait(LIMIT),
    "queue": lambda network, load: network.drain(LIMIT),
    "batch": lambda network, load: network.batch([finish]).wait(LIMIT),
    "future": lambda network, load: network.submit(str).result(LIMIT),
    "exception": lambda network, load: network.submit(str).exception(LIMIT),
}


@pytest.mark.parametrize("kind", BLOCKING)
def test_the_line_of_a_blocking_wait_is_told(kind: str) -> None:
    tokens: list[Token] = []
    with FIFOQueue("network") as network, FIFOQueue("database") as database:
        load = network.enqueue(tokens.append)
        waiting = database.submit(BLOCKING[kind], network, load)
        while (line := line_of_wait(database)) is None or not tokens:
            pass
        assert line.startswith(f'"{kind}": lambda')
        tokens.pop().finish()
        waiting.result(LIMIT)


async def end(network: FIFOQueue, load: Operation) -> None:
    await load  # end


async def drained(network: FIFOQueue, load: Operation) -> None:
    await network.drained()  # drained


async def run(network: FIFOQueue, load: Operation) -> None:
    await network.run(asyncio.sleep, 0)  # run


async def turn(network: FIFOQueue, load: Operation) -> None:
    async with network:  # turn
        pass


async def inner(network: FIFOQueue, load: Operation) -> None:
    await end(network, load)


@pytest.mark.parametrize(
    ("wait", "mark"),
    [(end, "end"), (drained, "drained"), (run, "run"), (turn, "turn"), (inner, "end")],
)
def test_the_line_of_an_await_is_told(
    wait: Callable[[FIFOQueue, Operation], Awaitable[None]], mark: str
) -> None:
    assert told(wait).endswith(f"# {mark}")


def test_what_no_coroutine_of_the_program_awaits_has_no_line() -> None:
    async def main() -> None:
        tokens: list[Token] = []
        with FIFOQueue("network") as network, FIFOQueue("database") as database:
            network.enqueue(tokens.append)
            working = asyncio.create_task(database.run(network.drained))
            while (line := line_of_wait(database)) is None or not tokens:
                await asyncio.sleep(0)
            assert line == ""
            tokens.pop().finish()
            await working

    asyncio.run(main())


def told(wait: Callable[[FIFOQueue, Operation], Awaitable[None]]) -> str:
    async def main() -> str:
        tokens: list[Token] = []
        with FIFOQueue("network") as network, FIFOQueue("database") as database:
            load = network.enqueue(tokens.append)

            async def work() -> None:
                async with database:
                    await wait(network, load)

            working = asyncio.create_task(work())
            while (line := line_of_wait(database)) is None or not tokens:
                await asyncio.sleep(0)
            tokens.pop().finish()
            await working
        return line

    return asyncio.run(main())
