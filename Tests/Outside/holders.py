"""Where copies of a token are: each place that it may be kept in, and tokens that are lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import LIMIT, Bench

NOWHERE = "nowhere in the process: nothing in it can finish the operation"
NO_COPY = "no copy of the token is in the memory of this process"
AT = r", at 0x[0-9a-f]+"
THREAD = r"thread [0-9]+ \(tokens\)"
PLACES = {
    "data": f"in the data of tokens{AT}",
    "zeroed data": f"in memory after the data of tokens{AT}",
    "heap": f"in (the heap|memory){AT}",
    "large block": f"in memory{AT}",
    "across steps": f"in memory{AT}",
    "shared memory": f"in shared memory{AT}",
    "behind a hole": f"in memory{AT}",
    "unaligned": f"in (the heap|memory){AT}",
    "number of Python": f"in (the heap|memory){AT}, as a number of Python's",
    "below other stack": f"in memory{AT}",
    "first thread ended": f"in the data of tokens{AT}",
    "first thread ends": f"in the data of tokens{AT}",
    "signals": f"in the data of tokens{AT}",
    "stack": f"on the stack of {THREAD}{AT}",
    "thread local": f"on the stack of thread [0-9]+ \\(\\){AT}",
    "register": f"in a register of {THREAD}",
    "dropped": NOWHERE,
    "overwritten": NOWHERE,
    "kept for a moment": NOWHERE,
    "freed": NOWHERE,
    "dead stack": NOWHERE,
    "reported": NOWHERE,
    # What the program cannot see, as its manual page says.
    "encoded": NOWHERE,
    "pipe": NOWHERE,
    "file": NOWHERE,
}


def state_of(pid: int, folder: Path = Path("/proc")) -> str:
    text = (folder / str(pid) / "stat").read_text(encoding="utf-8")
    return text.rpartition(")")[2].split()[0]


def threads_named(pid: int, name: str) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(task.name) for task in tasks if (task / "comm").read_text() == name + "\n"]


def check(said: str, sort: str) -> None:
    """What is said of a process of that sort."""
    head, *places = said.splitlines()
    assert re.fullmatch(
        r'"load" \(.*tokens\.c:\d+\) of queue "network": its token 0x3[0-9a-f]{15} is', head
    ), (sort, said)
    assert len(places) == 1, (sort, said)
    assert re.fullmatch(f"    {PLACES[sort]}", places[0]), (sort, said)


def test_each_place_of_a_token_is_found(bench: Bench) -> None:
    sorts = subprocess.run([bench.tokens, "sorts"], capture_output=True, text=True, check=True)
    assert sorts.stdout.splitlines() == list(PLACES)
    for sort in PLACES:
        with bench.started([str(bench.tokens), sort]) as it:
            check(bench.answer("holders", it.pid), sort)


def test_twenty_of_each_sort_are_told_apart(bench: Bench) -> None:
    for sort in ("heap", "stack", "kept for a moment"):
        for variant in range(20):
            with bench.started([str(bench.tokens), sort, str(variant)]) as it:
                check(bench.answer("holders", it.pid), sort)


def test_the_first_report_says_where_a_copy_is(bench: Bench) -> None:
    """The same places, found by the process itself. Registers it cannot see."""
    settings = {**os.environ, "INTURN_STALL": "100ms"}
    # That one has a handler of reports.
    sorts = {sort: place for sort, place in PLACES.items() if sort != "reported"}
    with contextlib.ExitStack() as all_of_them:
        folder = all_of_them.enter_context(tempfile.TemporaryDirectory())
        started = {}
        for sort in sorts:
            command = [str(bench.tokens), sort]
            it = all_of_them.enter_context(
                subprocess.Popen(
                    command,
                    env=settings,
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            all_of_them.callback(it.kill)
            started[sort] = it
        for sort, it in started.items():
            assert it.stderr is not None
            assert it.stderr.readline().startswith("inturn: stuck for ")
            said = it.stderr.readline()
            rest = rf"inturn holders {it.pid} (says who has the token|looks into registers, too)"
            is_found = sorts[sort] != NOWHERE and sort != "register"
            copy = rf"a copy of the token is {sorts[sort]}" if is_found else NO_COPY
            assert re.fullmatch(f"  {copy}; {rest}\n", said), (sort, said)


def test_a_report_leaves_no_copy(bench: Bench) -> None:
    """The line that is written by default, which names this command."""
    command = [str(bench.tokens), "dropped"]
    settings = {**os.environ, "INTURN_STALL": "10ms"}
    with subprocess.Popen(
        command, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as it:
        assert it.stderr is not None
        assert it.stderr.readline().startswith("inturn: stuck for ")
        assert it.stderr.readline().startswith(f"  {NO_COPY}; inturn holders {it.pid} ")
        said = bench.answer("holders", it.pid)
        it.kill()
    assert said.splitlines()[1:] == [f"    {NOWHERE}"], said


def test_an_idle_worker_is_no_holder(bench: Bench) -> None:
    """Where it sleeps, memory of its last call is left over."""
    with bench.started([str(bench.tokens), "plain"]) as it:
        end = time.monotonic() + LIMIT
        while " running token " not in bench.answer("dump", it.pid):
            assert time.monotonic() < end
        [worker] = threads_named(it.pid, "inturn-worker")
        while state_of(worker, Path(f"/proc/{it.pid}/task")) != "S":
            assert time.monotonic() < end
        said = bench.answer("holders", it.pid)
        assert said.splitlines()[1:] == [f"    {NOWHERE}"], said


def test_the_threads_are_stopped_only_to_look_for_copies(bench: Bench) -> None:
    with bench.of_sort("many") as it:
        reads, while_stopped = bench.reads("holders", it.pid)
        # Nothing waits for its token.
        assert (reads > 0, while_stopped) == (True, 0)
    with bench.started([str(bench.tokens), "heap"]) as it:
        # Its memory is to stay as it is: threads that begin now would add to it.
        it.send_signal(signal.SIGSTOP)
        os.waitpid(it.pid, os.WUNTRACED)
        maps = Path(f"/proc/{it.pid}/maps").read_text(encoding="utf-8")
        _, while_stopped = bench.reads("holders", it.pid)
        # One for each megabyte of a region, and one for the operation.
        regions = re.findall("^([0-9a-f]+)-([0-9a-f]+) rw", maps, re.MULTILINE)
        steps = sum(-((int(begin, 16) - int(end, 16)) >> 20) for begin, end in regions)
        assert while_stopped == steps + 1, (while_stopped, steps)


def test_a_process_whose_first_thread_has_ended_is_read(bench: Bench) -> None:
    with bench.started([str(bench.tokens), "first thread ended"]) as it:
        while state_of(it.pid) != "Z":  # it is about to end
            time.sleep(0)
        assert re.search(rf"^ *{it.pid}  libinturn", bench.answer("ps"), re.MULTILINE)
        assert '\nqueue "network" ' in bench.answer("dump", it.pid)
        assert '"load" (' in bench.answer("why", it.pid, "load")


def test_the_first_thread_may_end_before_each_read(bench: Bench) -> None:
    command = [str(bench.tokens), "first thread ends"]
    with bench.started(command) as it:
        reads, while_stopped = bench.reads("holders", it.pid)
    for at in range(reads - while_stopped + 1):
        with bench.started(command) as it:
            check(bench.counted("holders", it.pid, END_AT=str(at)), "first thread ends")


def test_the_threads_continue(bench: Bench) -> None:
    with bench.of_sort("busy") as it:
        for _ in range(20):
            bench.answer("holders", it.pid)
        assert state_of(it.pid) in "RS"
        first = bench.answer("dump", it.pid)
        end = time.monotonic() + LIMIT
        while bench.answer("dump", it.pid) == first:
            assert time.monotonic() < end


def test_no_signal_is_lost(bench: Bench) -> None:
    count = 5_000
    with bench.started([str(bench.tokens), "signals"]) as it:
        assert it.stdout is not None
        asks = threading.Event()

        def ask() -> None:
            while asks.is_set():
                bench.answer("holders", it.pid)

        asks.set()
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask)
            try:
                for _ in range(count):  # one at a time, as the system joins signals
                    os.kill(it.pid, signal.SIGRTMIN)
                    ready, _, _ = select.select([it.stdout], [], [], LIMIT)
                    assert ready, "a signal was lost"
                    assert it.stdout.read(1) == "."
            finally:
                asks.clear()
            asking.result()


def test_a_process_that_is_stopped_stays_so(bench: Bench) -> None:
    with bench.started([str(bench.tokens), "data"]) as it:
        it.send_signal(signal.SIGSTOP)
        os.waitpid(it.pid, os.WUNTRACED)
        assert "in the data of tokens" in bench.answer("holders", it.pid)
        end = time.monotonic() + LIMIT
        while state_of(it.pid) != "T":  # a moment after it was let go of
            assert time.monotonic() < end
        it.send_signal(signal.SIGCONT)
        while state_of(it.pid) == "T":
            pass
        assert "in the data of tokens" in bench.answer("holders", it.pid)


def test_operations_are_chosen_as_by_why(bench: Bench) -> None:
    with bench.of_sort("still") as it:
        entries = json.loads(bench.answer("dump", it.pid, "json"))["entries"]
        out = [each for each in entries if each.get("state") == "running"]
        out = [each for each in out if each.get("cause") == "token"]
        assert bench.answer("holders", it.pid).count(" is\n") == len(out) > 1
        for each in out:
            said = bench.answer("holders", it.pid, each["id"])
            assert said.count(" is\n") == 1
            assert said.startswith(f'"{each["label"]}"' if each.get("label") else "an operation")
        assert bench.answer("holders", it.pid, "token").count(" is\n") == 1
        assert bench.answer("holders", it.pid, "suspended").endswith("waits for its token\n")
        assert bench.refusal("holders", it.pid, "0x1") == bench.refusal("why", it.pid, "0x1")
        assert bench.refusal("holders", it.pid, "none") == bench.refusal("why", it.pid, "none")
        assert "the system forbids it" in bench.refusal("holders", it.pid, may_read=False)
    assert "there is no process" in bench.refusal("holders", it.pid)


def test_a_token_of_python_is_found(bench: Bench) -> None:
    script = (
        "import inturn, threading\n"
        "queue, kept, called = inturn.FIFOQueue('of Python'), [], threading.Event()\n"
        "queue.options(label='load').enqueue(lambda it: (kept.append(it), called.set()))\n"
        "called.wait()\n"
        "print('ready', flush=True)\n"
        "threading.Event().wait()\n"
    )
    with bench.started([sys.executable, "-c", script], **bench.of_python()) as it:
        end = time.monotonic() + LIMIT
        while "as a number of Python's" not in bench.answer("holders", it.pid):
            assert time.monotonic() < end  # until the call has returned
