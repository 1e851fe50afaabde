"""The end of the interpreter, signals and forks: nothing hangs, nothing crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import LIMIT, SOURCES, run_python

PENDING = """
import inturn
queue = inturn.FIFOQueue()
queue.suspend()
operations = [queue.enqueue(inturn.Token.finish, on_end=print) for _ in range(1000)]
"""

UNFINISHED = """
import inturn, threading
tokens, begun = [], threading.Event()
queue = inturn.FIFOQueue()
queue.enqueue(lambda token: (tokens.append(token), begun.set()))
queue.enqueue(inturn.Token.finish)
assert begun.wait(30)
"""

RUNNING = """
import inturn, threading
begun = threading.Event()
queue = inturn.FIFOQueue()
queue.enqueue(lambda token: (begun.set(), threading.Event().wait()))
assert begun.wait(30)
"""

AWAKE = """
import inturn, threading, time
begun = threading.Event()
queue = inturn.FIFOQueue()
def work(token):
    begun.set()
    while True:
        time.sleep(0.0001)  # comes back for Python again and again, also when it has gone
queue.enqueue(work)
assert begun.wait(30)
garbage = [{"a": [number]} for number in range(20_000)]
"""

BUSY = """
import inturn
queue = inturn.FIFOQueue()
def work(token):
    queue.enqueue(work)
    token.finish()
for _ in range(10):
    queue.enqueue(work)
"""

EXIT_INSIDE = """
import inturn, sys
queue = inturn.FIFOQueue()
print(queue.enqueue(lambda token: sys.exit(3)).wait(30).outcome.name, file=sys.stderr)
"""

INTERACTION = """
import inturn
queue = inturn.InteractionQueue()
queue.enqueue(inturn.Token.finish, on_end=print)
queue.view_did_appear()
"""


LOST = """
import gc, inturn, threading, warnings
warnings.simplefilter("ignore")
lost = threading.Event()
queue = inturn.FIFOQueue()
queue.enqueue(lambda token: None, on_end=lambda end: lost.set())
tokens = []
queue.enqueue(tokens.append)
queue.post(tokens.clear)
assert lost.wait(30)
"""

DAEMONS = """
import inturn, threading
queue = inturn.OperationQueue(max_concurrent=4)
begun = threading.Event()
def produce(queue=queue, begun=begun):
    while True:
        queue.submit(begun.set).result()
for _ in range(3):
    threading.Thread(target=produce, daemon=True).start()
assert begun.wait(30)
"""

FUTURES = """
import inturn, threading
begun = threading.Event()
queue = inturn.OperationQueue(max_concurrent=3)
futures = [queue.submit(begun.set) for _ in range(100)]
futures += [queue.submit(threading.Event().wait) for _ in range(5)]
assert begun.wait(30)
"""

LOOP = """
import asyncio, inturn
queue = inturn.FIFOQueue()
async def main():
    begun = asyncio.Event()
    async def forever():
        begun.set()
        await asyncio.Event().wait()
    queue.run(forever)
    for _ in range(10):
        queue.run(asyncio.sleep, 0)
    queue.post(int)
    await begun.wait()
asyncio.run(main())
"""

PROGRAMS = {
    "pending": PENDING,
    "unfinished": UNFINISHED,
    "running": RUNNING,
    "awake": AWAKE,
    "busy": BUSY,
    "exit inside": EXIT_INSIDE,
    "interaction": INTERACTION,
    "lost": LOST,
    "daemons": DAEMONS,
    "futures": FUTURES,
    "loop": LOOP,
}
RESTS = ("", "import sys; sys.exit(0)", "del queue")
TIMES = int(os.environ.get("INTURN_TEST_EXITS", "100"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_exit_neither_hangs_nor_crashes_nor_calls_anything(name: str) -> None:
    expected = "FAILED\n" if name == "exit inside" else ""

    def run(number: int) -> None:
        program = f"{PROGRAMS[name]}\n{RESTS[number % len(RESTS)]}"
        ended = run_python(program, "-S", "-W", "error")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", expected)

    with ThreadPoolExecutor(2) as runs:
        for _ in runs.map(run, range(TIMES)):
            pass


def test_sys_exit_inside_an_interaction_ends_the_program() -> None:
    program = """
import inturn, sys
queue = inturn.InteractionQueue(settle=0)
queue.enqueue(lambda token: sys.exit(3))
queue.view_did_appear()
inturn.run_main()
"""
    assert run_python(program).returncode == 3


def test_a_keyboard_interrupt_ends_run_main_and_every_wait() -> None:
    program = """
import inturn, sys
queue = inturn.FIFOQueue()
queue.suspend()
operation = queue.enqueue(inturn.Token.finish)
for wait in (inturn.run_main, operation.wait, queue.drain):
    try:
        print("waiting", flush=True)
        wait()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
        assert process.wait(LIMIT) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_refuses_what_it_inherits_and_works_with_what_it_makes() -> None:
    program = """
import gc, inturn, os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads
tokens, begun = [], threading.Event()
queue = inturn.FIFOQueue()
running = queue.enqueue(lambda token: (tokens.append(token), begun.set()))
assert begun.wait(30)
pid = os.fork()
if pid == 0:
    status = 1
    try:
        for call in (lambda: queue.enqueue(print), queue.drain, running.wait, tokens[0].finish):
            try:
                call()
            except inturn.ForkedError:
                status += 1
        with inturn.FIFOQueue() as new:
            new.enqueue(inturn.Token.finish)
        with inturn.InteractionQueue(settle=0) as new:
            new.enqueue(inturn.Token.finish, on_end=lambda end: inturn.stop_main())
            new.view_did_appear()
            inturn.run_main()
        del queue, running, call
        gc.collect()
    finally:
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
tokens[0].finish("in the parent")
print(running.wait(30).result)
"""
    ended = run_python(program)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("in the parent\n", "", 0)
