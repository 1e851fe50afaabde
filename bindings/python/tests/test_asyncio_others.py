"""Other packages built on asyncio: another loop, and anyio's cancelling."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import inturn
from support import LIMIT, run, run_python

HERE = Path(__file__).parent
# All tests for asyncio run again with another loop, except those that create their own.
ASYNCIO = [
    *(str(path) for path in sorted(HERE.glob("test_asyncio*.py")) if path != Path(__file__)),
    str(HERE / "test_storm.py"),
]


def test_a_queue_has_the_same_guarantees_with_uvloop() -> None:
    pytest.importorskip("uvloop")
    ended = run_python(
        f"""
import asyncio, pytest, sys, uvloop
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
sys.path.insert(0, {str(HERE)!r})
assert type(asyncio.new_event_loop()) is uvloop.Loop
sys.exit(pytest.main(["-q", "-W", "error", "-p", "no:cacheprovider", *{ASYNCIO!r}]))
""",
        limit=3 * LIMIT,
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert " passed" in ended.stdout


@pytest.mark.parametrize("where", ["running", "pending", "block", "inside"])
def test_anyios_cancel_scopes_keep_what_is_cancelled(where: str) -> None:
    anyio: Any = pytest.importorskip("anyio")

    async def main() -> None:
        with inturn.FIFOQueue() as queue:

            async def enter() -> None:
                async with queue:
                    pass

            async def inside() -> None:
                with anyio.move_on_after(0.02) as scope:
                    await anyio.sleep(LIMIT)
                task = asyncio.current_task()
                assert scope.cancelled_caught
                assert sys.version_info < (3, 11) or (task and task.cancelling() == 0)
                async with anyio.create_task_group() as group:
                    group.start_soon(anyio.sleep, 0.01)

            if where == "inside":
                for _ in range(2):
                    await queue.run(inside)
                return
            waits: dict[str, Callable[[], Any]] = {
                "running": lambda: queue.run(anyio.sleep, LIMIT),
                "pending": lambda: queue.run(anyio.sleep, 0),
                "block": enter,
            }
            before = None if where == "running" else queue.run(anyio.sleep, LIMIT)
            with anyio.move_on_after(0.02) as scope:
                await waits[where]()
            assert scope.cancelled_caught
            if before is not None:
                before.cancel()
            assert await queue.run(asyncio.sleep, 0, "after") == "after"

    run(main)


def test_asyncios_tasks_are_its_own_while_trio_is_a_guest_in_its_loop() -> None:
    trio: Any = pytest.importorskip("trio")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        may_end, ended = trio.Event(), loop.create_future()
        with inturn.FIFOQueue() as queue:

            async def guest() -> None:
                async with queue:
                    await may_end.wait()

            async def enter() -> int:
                async with queue:
                    return 2

            trio.lowlevel.start_guest_run(
                guest,
                run_sync_soon_threadsafe=loop.call_soon_threadsafe,
                done_callback=ended.set_result,
            )
            while not queue._holders:
                await asyncio.sleep(0)
            run = queue.run(asyncio.sleep, 0, 1)
            entering = asyncio.ensure_future(enter())
            may_end.set()
            assert await run == 1
            assert await entering == 2
            await queue.drained()
            (await ended).unwrap()

    run(main)
