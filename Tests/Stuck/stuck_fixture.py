"""Shared by the programs in Python that are stuck."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

import inturn

NOT_FINISHED = "its call has returned, its token has not been finished"
IN_CALL = "its call has not returned"
CALLBACK = "a callback of it has not returned"
# A coroutine that nobody waits for is given longer.
LATER = "silent: nobody waits for it, so it is told after 10 s"
HOUR = 3600

Main = Callable[[], object]
scenarios: dict[str, tuple[str, bool, Main]] = {}
kept: list[object] = []  # Objects to keep alive.


def stuck(expected: str, *, is_new: bool = False) -> Callable[[Main], Main]:
    """A scenario, and the expected diagnosis."""

    def add(main: Main) -> Main:
        scenarios[main.__name__] = expected, is_new, main
        return main

    return add


new = functools.partial(stuck, is_new=True)


def finish(token: inturn.Token) -> None:
    token.finish()


def sleep() -> NoReturn:
    while True:
        time.sleep(HOUR)


def block(token: inturn.Token) -> None:
    kept.append(token)
    sleep()


def fail(token: inturn.Token) -> None:
    token.fail(ValueError())


def started(queue: inturn.Queue, count: int = 1) -> None:
    """Waits until this many of its operations run."""
    while queue.statistics().running < count:
        time.sleep(0.001)


def moment() -> None:
    """Lets something happen that cannot be observed."""
    time.sleep(0.05)


def beside(function: Callable[..., object], *arguments: object) -> None:
    threading.Thread(target=function, args=arguments, daemon=True).start()


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def nothing() -> None:
    pass


def runs(main: Callable[[], Coroutine[Any, Any, object]]) -> Main:
    """Runs a coroutine function in a loop of asyncio."""

    @functools.wraps(main)
    def run() -> None:
        asyncio.run(main())

    return run
