"""Coroutines of actor queues: how they end, what they may be, and whom they keep."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import inturn
from support import run

KINDS: list[type[inturn.FIFOQueue] | type[inturn.OperationQueue] | type[inturn.ActorQueue]] = [
    inturn.FIFOQueue,
    inturn.OperationQueue,
    inturn.ActorQueue,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_coroutine_that_is_resolved_returns_none(kind: type[inturn.FIFOQueue]) -> None:
    async def never() -> str:
        raise AssertionError

    async def main() -> None:
        with kind() as queue:
            queue.suspend()
            resolved = queue.options(key="a").run(never)
            cancelled = queue.options(key="b").run(never)
            await asyncio.sleep(0)
            assert queue.resolve("a") == queue.cancel("b") == 1
            queue.resume()
            assert await resolved is None
            with pytest.raises(asyncio.CancelledError):
                await cancelled

    run(main)


@pytest.mark.parametrize("fails", [False, True], ids=["returns", "raises"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_end_that_was_told_first_is_a_coroutines_end(
    kind: type[inturn.FIFOQueue], fails: bool
) -> None:
    async def main() -> None:
        async def stubborn(begun: asyncio.Event, heeds: asyncio.Event) -> str:
            try:
                begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                heeds.set()
                await is_over.wait()
            if fails:
                raise LookupError
            return "late"

        with inturn.ManualClock() as clock, kind(clock=clock) as queue:
            limits: dict[str, tuple[inturn.Options, type[BaseException]]] = {
                "cancel_grace": (
                    queue.options(key="key", cancel_grace=1),
                    asyncio.CancelledError,
                ),
                "max_run": (queue.options(max_run=1), inturn.TimedOutError),
            }
            for name, (limited, error) in limits.items():
                begun, heeds, is_over = asyncio.Event(), asyncio.Event(), asyncio.Event()
                task = limited.run(stubborn, begun, heeds)
                await begun.wait()
                if name == "cancel_grace":
                    queue.cancel("key")
                    await heeds.wait()
                clock.advance(1)
                await heeds.wait()
                is_over.set()
                with pytest.raises(error):
                    await task
                await queue.drained()

    run(main)


class Number:
    """What has no `send`, and is awaited by an iterator that has none."""

    def __await__(self) -> Iterator[Any]:
        return iter(())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_a_function_returns_may_be_anything_that_can_be_awaited(
    kind: type[inturn.FIFOQueue],
) -> None:
    async def main() -> None:
        async def three() -> int:
            await asyncio.sleep(0)
            return 3

        def later() -> asyncio.Task[int]:
            return asyncio.ensure_future(three())

        with kind() as queue, inturn.FIFOQueue() as another:
            run: Any = queue.run  # for type checkers, a function makes a coroutine
            assert await run(later) == 3
            assert await run(Number) is None
            assert await run(lambda: another.run(three)) == 3
            with pytest.raises(TypeError, match="not a coroutine function: <class 'int'>"):
                await run(int)

    run(main)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_loss_of_an_owner_cancels_its_coroutines(kind: type[inturn.FIFOQueue]) -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        with kind() as queue:
            options = queue.options(owner=inturn.Owner())
            running = options.run(forever)
            await begun.wait()
            queue.suspend()
            pending = options.run(forever)
            await asyncio.sleep(0)
            del options
            queue.resume()
            for task in running, pending:
                with pytest.raises(asyncio.CancelledError):
                    await task

    run(main)
