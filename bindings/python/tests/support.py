"""Shared by the tests: every wait has a limit, and says what it waited for."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import Any, Callable

import inturn

# Seconds; far more than anything here takes.
LIMIT = 30.0

SOURCES = Path(__file__).resolve().parents[1] / "src"
REPOSITORY = Path(__file__).resolve().parents[3]


def ring_of(error: BaseException) -> str:
    """The queues of a ring, in the order in which they wait for each other."""
    assert isinstance(error, inturn.DeadlockError)
    return " -> ".join(re.findall(r'queue "([^"]*)"', error.ring or ""))


class Gate:
    """Opens once; a wait says what it waits for."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._event = threading.Event()

    def open(self, *_: object) -> None:
        self._event.set()

    def wait(self, *_: object) -> None:
        assert self._event.wait(LIMIT), f"waited {LIMIT} s for: {self._what}"

    @property
    def is_open(self) -> bool:
        return self._event.is_set()


def finish(token: inturn.Token) -> None:
    """Work that is over when it returns."""
    token.finish()


def each(*steps: Callable[[inturn.Token], object]) -> Callable[[inturn.Token], None]:
    """Work that calls the steps with its token, one after another."""

    def work(token: inturn.Token) -> None:
        for step in steps:
            step(token)

    return work


def join(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), f"waited {LIMIT} s for the end of {thread.name}"


def until(what: str, condition: Callable[[], bool]) -> None:
    """Polls a condition whose change nobody reports."""
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit, f"waited {LIMIT} s for: {what}"
        time.sleep(0)


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Runs a test's coroutine, with a limit, in asyncio's debug mode."""

    async def limited() -> None:
        await asyncio.wait_for(main(), LIMIT)

    asyncio.run(limited(), debug=True)


def run_trio(main: Callable[[], Awaitable[None]]) -> None:
    """The same under trio."""
    import trio  # not in an interpreter that has no packages

    async def limited() -> None:
        with trio.fail_after(LIMIT):
            await main()

    trio.run(limited)


def run_python(
    program: str, *options: str, limit: float = LIMIT
) -> subprocess.CompletedProcess[str]:
    """Runs a program in an interpreter of its own, which must end within the limit."""
    path = os.pathsep.join(filter(None, [str(SOURCES), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *options, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
