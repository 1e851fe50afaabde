"""Swift's main queue on asyncio's loop: ``@MainActor`` code in a Python program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import REPOSITORY, run_python

PROGRAM = """
import asyncio, ctypes, resource, sys, threading
import inturn
from inturn.loops import asyncio as on_asyncio, dispatch

try:
    dispatch.MainQueue()
    raise SystemExit("a main queue without libdispatch")
except inturn.UnsupportedError:
    pass

swift = ctypes.CDLL(sys.argv[1])
done_fn = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_int32)
swift.mainactor_add.argtypes = [ctypes.c_int32, ctypes.c_size_t, done_fn]
swift.mainactor_storm.argtypes = [ctypes.c_bool]
swift.mainactor_async.argtypes = [ctypes.c_size_t, done_fn]

async def program():
    loop = asyncio.get_running_loop()
    answers = asyncio.Queue()

    @done_fn
    def done(context, count):
        assert threading.current_thread() is threading.main_thread()
        answers.put_nowait((context, count))

    async def answer():
        return await asyncio.wait_for(answers.get(), 30)

    queue = dispatch.MainQueue()
    with on_asyncio.attach(queue) as attachment:
        swift.mainactor_add(1000, 7, done)
        assert await answer() == (7, 1000)
        for number in range(100):
            swift.mainactor_async(number, done)
            assert await answer() == (number, -1)

        # Twice, and on another thread
        try:
            on_asyncio.attach(dispatch.MainQueue())
            raise SystemExit("attached twice")
        except inturn.BusyError:
            pass
        outcomes = []
        def elsewhere():
            for call in (queue.drain, queue._claim, attachment.detach):
                try:
                    outcomes.append(call())
                except inturn.WrongThreadError as error:
                    outcomes.append("refused")
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert outcomes == ["refused"] * 3, outcomes

        # An interaction that Swift answers, on the same loop
        ended = asyncio.Event()
        tokens = {}
        @done_fn
        def finish(context, count):
            tokens.pop(context).finish()
        def ask(token):
            tokens[1] = token
            swift.mainactor_add(1, 1, finish)
        with inturn.InteractionQueue(settle=0, gap=0) as dialogs, on_asyncio.attach():
            dialogs.options(on_end=lambda end: ended.set()).enqueue(ask)
            dialogs.view_did_appear()
            await asyncio.wait_for(ended.wait(), 30)

        # Busy: the loop goes on, too
        swift.mainactor_storm(True)
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert queue.drain() == 1
        swift.mainactor_storm(False)
        assert queue.drain() == 0

        # Idle
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        await asyncio.sleep(2)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before <= 10

    on_asyncio.attach(queue).detach()
    print("done")

asyncio.run(program())
"""


@pytest.fixture(scope="module")
def swift_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("swift") / "libmainactor.so"
    source = REPOSITORY / "Tests" / "Adapters" / "mainactor.swift"
    subprocess.run(
        "swiftc -swift-version 6 -emit-library -parse-as-library -module-name mainactor "
        f"'{source}' -o '{library}'",
        shell=True,
        check=True,
    )
    return library


def test_main_actor_code_runs_on_asyncios_loop(swift_library: Path) -> None:
    program = PROGRAM.replace("sys.argv[1]", repr(str(swift_library)))
    result = run_python(program)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
