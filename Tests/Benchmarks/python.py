#!/usr/bin/env python3
"""The Python package and Python's own counterparts: one program for all cases.

It is called as PROGRAM-PEER, a link to this file, with the case's name and its numbers, and prints
`case,peer,metric,value` like the other programs.
"""

from __future__ import annotations

import asyncio
import os
import queue as mailbox
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))

BURSTS = 3


def nothing() -> None:
    pass


async def nothing_asynchronous() -> None:
    pass


def executor(peer: str) -> Any:
    if peer == "inturn":
        import inturn

        return inturn.FIFOQueue()
    return ThreadPoolExecutor(1)


def post(peer: str, count: int) -> None:
    """Plain functions without futures."""
    with executor(peer) as queue:
        enqueue = queue.post if peer == "inturn" else queue.submit
        for _ in range(count):
            enqueue(nothing)


def submit(peer: str, count: int) -> None:
    """Plain functions with a future each; all results are taken."""
    with executor(peer) as queue:
        futures: list[Future[None]] = [queue.submit(nothing) for _ in range(count)]
        for future in futures:
            future.result()


def token(peer: str, count: int) -> None:
    """Back and forth between two threads."""
    there: mailbox.SimpleQueue[Any] = mailbox.SimpleQueue()
    back: mailbox.SimpleQueue[Any] = mailbox.SimpleQueue()

    def answer() -> None:
        while (letter := there.get()) is not None:
            if peer == "inturn":
                letter.finish()
            else:
                back.put(letter)
            del letter

    thread = threading.Thread(target=answer)
    thread.start()
    if peer == "inturn":
        with executor(peer) as queue:
            for _ in range(count):
                queue.enqueue(there.put)
    else:
        for _ in range(count):
            there.put(1)
            back.get()
    there.put(None)
    thread.join()


class Later(asyncio.Future[Any]):
    """The future of a coroutine that runs later, in its caller's context."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        super().__init__()
        self._function = function
        self._context = copy_context()

    def run(self) -> None:
        """Runs a coroutine that does not wait."""
        coroutine = self._context.run(self._function)
        try:
            self._context.run(coroutine.send, None)
        except StopIteration as stop:
            self.set_result(stop.value)


async def bare_futures(count: int) -> None:
    """No queue at all: only what each coroutine costs that gets a future in Python."""
    futures = [Later(nothing_asynchronous) for _ in range(count)]

    def run_all() -> None:
        for future in futures:
            future.run()

    asyncio.get_running_loop().call_soon(run_all)
    await asyncio.gather(*futures)


async def in_order(peer: str, count: int) -> None:
    """Coroutines in one loop, one at a time."""
    if peer == "bare_futures":
        await bare_futures(count)
        return
    if peer == "inturn":
        with executor(peer) as queue:
            await asyncio.gather(*[queue.run(nothing_asynchronous) for _ in range(count)])
        return
    lock = asyncio.Lock()

    async def locked() -> None:
        async with lock:
            await nothing_asynchronous()

    await asyncio.gather(*[locked() for _ in range(count)])


def lock_of(peer: str) -> Any:
    return asyncio.Lock() if peer == "asyncio_lock" else executor(peer)


async def turn(peer: str, count: int) -> None:
    """Turns that nobody else waits for."""
    lock = lock_of(peer)
    for _ in range(count):
        async with lock:
            pass


async def contended_turn(peer: str, count: int) -> None:
    """Turns of 1,000 tasks, which all want theirs."""
    lock = lock_of(peer)

    async def take_turns() -> None:
        for _ in range(count // 1000):
            async with lock:
                await asyncio.sleep(0)

    await asyncio.gather(*[take_turns() for _ in range(1000)])


async def run(peer: str, count: int) -> None:
    """Coroutines in tasks of their own, each awaited before the next one is made."""
    if peer == "inturn":
        queue = executor(peer)
        for _ in range(count):
            await queue.run(nothing_asynchronous)
        return
    lock = asyncio.Lock()

    async def locked() -> None:
        async with lock:
            await nothing_asynchronous()

    for _ in range(count):
        await asyncio.create_task(locked())


async def from_thread(peer: str, count: int) -> None:
    """Coroutines that another thread passes to a loop."""
    loop = asyncio.get_running_loop()

    def produce(run: Callable[[], Future[None]]) -> None:
        futures = [run() for _ in range(count)]
        for future in futures:
            future.result()

    if peer == "inturn":
        with executor(peer) as queue:
            await asyncio.to_thread(produce, lambda: queue.run_on(loop, nothing_asynchronous))
        return
    await asyncio.to_thread(
        produce, lambda: asyncio.run_coroutine_threadsafe(nothing_asynchronous(), loop)
    )


def time_imports(peer: str, count: int) -> float:
    """Nanoseconds of an import beyond that of asyncio, in a new interpreter: the median of
    `count`. As with an installed package, the bytecode exists."""
    module = "inturn" if peer == "inturn" else "asyncio"
    program = (
        f"import sys, time; sys.path.insert(0, {sys.path[0]!r});"
        "import asyncio; begin = time.perf_counter_ns();"
        f"import {module}; print(time.perf_counter_ns() - begin)"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def time_one() -> float:
            return float(subprocess.check_output([sys.executable, "-c", program], env=environment))

        time_one()  # writes the bytecode
        return statistics.median(time_one() for _ in range(count))


ASYNCHRONOUS: dict[str, Callable[[str, int], Awaitable[None]]] = {
    "in_order": in_order,
    "from_thread": from_thread,
    "turn": turn,
    "contended_turn": contended_turn,
    "run": run,
}
SYNCHRONOUS = {"post": post, "submit": submit, "token": token}


def measure(what: str, peer: str, count: int) -> float:
    """Nanoseconds of a burst."""
    begin = time.perf_counter_ns()
    if what in ASYNCHRONOUS:

        async def measured() -> None:
            await ASYNCHRONOUS[what](peer, count)

        asyncio.run(measured())
    else:
        SYNCHRONOUS[what](peer, count)
    return float(time.perf_counter_ns() - begin)


def main() -> None:
    program, case, *numbers = sys.argv
    name, _, peer = Path(program).name.partition("-")
    what = name.partition("_")[2]
    count = int(numbers[0])
    if what == "import":
        value = time_imports(peer, count)
        print(f"{case},{peer},import_ns,{value:.4f}")
        return
    first = measure(what, peer, count)
    later = statistics.median(measure(what, peer, count) for _ in range(BURSTS))
    print(f"{case},{peer},ns_per_operation,{later / count:.4f}")
    print(f"{case},{peer},first_burst_ns_per_operation,{first / count:.4f}")


if __name__ == "__main__":
    main()
