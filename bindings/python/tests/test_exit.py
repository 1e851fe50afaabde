"""The end of the interpreter, signals and forks: nothing hangs, nothing crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import inturn
from support import LIMIT, SOURCES, run_python

PENDING = """
import inturn
queue = inturn.FIFOQueue()
queue.suspend()
operations = [queue.options(on_end=print).enqueue(inturn.Token.finish) for _ in range(1000)]
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
queue = inturn.FIFOQueue(daemon=True)
queue.enqueue(lambda token: (begun.set(), threading.Event().wait()))
assert begun.wait(30)
"""

AWAKE = """
import inturn, threading, time
begun = threading.Event()
queue = inturn.FIFOQueue(daemon=True)
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
queue = inturn.FIFOQueue(daemon=True)
def work(token, queue=queue):  # the name may be deleted while it runs
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
queue.options(on_end=print).enqueue(inturn.Token.finish)
queue.view_did_appear()
"""


LOST = """
import gc, inturn, threading, warnings
warnings.simplefilter("ignore")
lost = threading.Event()
queue = inturn.FIFOQueue()
queue.options(on_end=lambda end: lost.set()).enqueue(lambda token: None)
tokens = []
queue.enqueue(tokens.append)
queue.post(tokens.clear)
assert lost.wait(30)
"""

DAEMONS = """
import inturn, threading
queue = inturn.OperationQueue(max_concurrent=4, daemon=True)
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
queue = inturn.OperationQueue(max_concurrent=3, daemon=True)
futures = [queue.submit(begun.set) for _ in range(100)]
futures += [queue.submit(threading.Event().wait) for _ in range(5)]
assert begun.wait(30)
"""

VALUE = """
import inturn, threading
queue, value, begun = inturn.FIFOQueue(), inturn.Value(0), threading.Event()
observations = [value.observe(lambda change: begun.set()) for _ in range(5)]
def change(value=value):
    while True:
        value.set(1)
threading.Thread(target=change, daemon=True).start()
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
    "value": VALUE,
    "loop": LOOP,
}
RESTS = ("", "import sys; sys.exit(0)", "del queue")
TIMES = int(os.environ.get("INTURN_TEST_EXITS", "100"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_exit_neither_hangs_nor_crashes_nor_calls_anything(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine, a test's limit may pass before the interpreter has ended.
    monkeypatch.setenv("INTURN_STALL", "off")
    expected = "FAILED\n" if name == "exit inside" else ""

    def run(number: int) -> None:
        program = f"{PROGRAMS[name]}\n{RESTS[number % len(RESTS)]}"
        ended = run_python(program, "-S", "-W", "error")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", expected)

    with ThreadPoolExecutor(2) as runs:
        for _ in runs.map(run, range(TIMES)):
            pass


# What the end of the program leaves to do, and what is printed by then.
LEFT = {
    "submit": ("queue.submit(slow, 1); queue.submit(slow, 2)", "12"),
    "post": ("queue.post(slow, 1); queue.post(slow, 2)", "12"),
    "enqueue": (
        "for n in (1, 2): queue.enqueue(lambda token, n=n: (slow(n), token.finish()))",
        "12",
    ),
    "end callback": ("queue.options(on_end=lambda end: slow(1)).enqueue(inturn.Token.finish)", "1"),
    "what work adds to another queue": (
        "queue.submit(slow, 1).add_done_callback(lambda _: other.submit(slow, 2).result())",
        "1",  # and it is refused: see below
    ),
    "several queues": ("queue.submit(slow, 1); other.submit(slow, 1)", "11"),
    "the queue goes out of scope": ("queue.submit(slow, 1); del queue", "1"),
    "an error of the main thread": ("queue.submit(slow, 1); raise SystemExit", "1"),
    "shutdown": ("queue.submit(slow, 1); queue.shutdown(wait=False)", "1"),
    "cancelled": (
        "queue.suspend(); queue.submit(slow, 1); queue.shutdown(False, cancel_futures=True)\n"
        "queue.resume()",
        "",
    ),
    "a thread finishes the token": (
        "queue.enqueue(lambda token: after_main(token.finish)); queue.submit(slow, 1)",
        "1",
    ),
    "a thread goes on": ("after_main(queue.submit, slow, 1)", "1"),
    "a loop that has stopped": (
        "loop = asyncio.new_event_loop()\n"
        "async def main(): queue.run(asyncio.sleep, 60); await asyncio.sleep(0.001)\n"
        "loop.run_until_complete(main()); queue.submit(slow, 1)",
        "1",
    ),
    "a loop that has closed": (
        "async def main(): queue.run(asyncio.sleep, 60); queue.post(slow, 1)\nasyncio.run(main())",
        "1",
    ),
    "an actor's loop that has stopped": (
        "loop, actor = asyncio.new_event_loop(), inturn.ActorQueue()\n"
        "async def main(): actor.run(asyncio.sleep, 60)\n"
        "loop.run_until_complete(main()); queue.submit(slow, 1)",
        "1",
    ),
    "what nothing could bring on": (
        "queue.suspend(); queue.submit(slow, 1); tokens = []\n"
        "other = inturn.FIFOQueue(); other.enqueue(tokens.append); other.submit(slow, 2)",
        "",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_was_accepted_is_done_before_the_interpreter_exits(name: str) -> None:
    program = """
import asyncio, inturn, sys, threading, time, warnings
warnings.simplefilter("ignore")  # of tokens and loops that are lost on purpose
begun = threading.Event()
def slow(number):
    time.sleep(0.05)
    print(number, end="", flush=True)
def after_main(function, *arguments):
    def run():
        threading.main_thread().join()
        function(*arguments)
    threading.Thread(target=run).start()
queue, other = inturn.FIFOQueue(), inturn.OperationQueue(max_concurrent=2)
"""
    left, expected = LEFT[name]
    ended = run_python(program + left)
    printed = "".join(sorted(ended.stdout))
    assert (ended.returncode, printed) == (0, expected), ended.stderr


def test_the_work_of_a_queue_with_a_thread_is_waited_for_and_a_daemons_is_not() -> None:
    program = """
import inturn, threading, time
begun = threading.Event()
queue = inturn.FIFOQueue(thread=True)
daemon = inturn.FIFOQueue(thread=True, daemon=True)
daemon.post(lambda: (begun.set(), threading.Event().wait()))
begun.wait()
queue.post(time.sleep, 0.05)
queue.post(print, "done")
"""
    ended = run_python(program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")


def test_a_forked_child_tells_of_no_failure_of_its_parent() -> None:
    program = """
import inturn, os, sys
with inturn.FIFOQueue() as queue:
    operation = queue.options(label="mine").enqueue(lambda token: 1 // 0)
child = os.fork()
if child == 0:
    sys.stderr = sys.stdout
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
"""
    ended = run_python(program)
    assert (ended.returncode, ended.stdout, ended.stderr.count("'mine'")) == (0, "", 1)


def test_work_that_adds_to_itself_is_refused_at_exit() -> None:
    program = """
import inturn, threading
queue = inturn.FIFOQueue()
threading.excepthook = lambda told: print(type(told.exc_value).__name__)
def work():
    queue.post(work)
queue.post(work)
"""
    ended = run_python(program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ClosedError\n", "")


def test_a_keyboard_interrupt_ends_the_wait_at_exit() -> None:
    program = """
import inturn, threading
queue = inturn.FIFOQueue()
queue.submit(print, "begun", flush=True)
queue.submit(threading.Event().wait)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        limit = time.monotonic() + LIMIT
        # Repeated, as the first may come before the main thread has ended.
        while process.poll() is None:
            assert time.monotonic() < limit, "it waits in spite of the interrupts"
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)


def test_daemon_is_for_queues_that_the_library_calls_itself() -> None:
    with inturn.Executor() as executor, pytest.raises(TypeError, match="daemon"):
        inturn.FIFOQueue(executor=executor, daemon=True)


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


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no signals")
def test_a_trace_that_the_environment_asks_for_is_written_after_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTURN_TRACE", str(tmp_path / "%p.json"))
    # Only with a file does the interpreter raise the signal again.
    (tmp_path / "program.py").write_text("""
import inturn, signal
queue = inturn.FIFOQueue("database")
queue.enqueue(inturn.Token.finish).wait()
signal.raise_signal(signal.SIGINT)
""")
    ended = subprocess.run(
        [sys.executable, tmp_path / "program.py"],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert ended.returncode == -signal.SIGINT, ended
    [trace] = tmp_path.glob("*.json")
    assert '"database"' in trace.read_text()


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
            new.options(on_end=lambda end: inturn.stop_main()).enqueue(inturn.Token.finish)
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
