"""What a user's type checker sees. Checked by mypy and by pyright, and not run."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TYPE_CHECKING

import inturn

if TYPE_CHECKING:
    from typing_extensions import assert_type


def length(text: str, *, twice: bool = False) -> int:
    return len(text) * (2 if twice else 1)


async def fetch(address: str) -> bytes:
    await asyncio.sleep(0)
    return address.encode()


def functions(queue: inturn.FIFOQueue, many: inturn.OperationQueue) -> None:
    assert_type(queue.submit(length, "a", twice=True), inturn.Future[int])
    assert_type(many.submit(length, "a").result(), int)
    assert_type(list(many.map(length, ["a", "b"])), list[int])
    executor: concurrent.futures.Executor = many
    future: concurrent.futures.Future[int] = queue.submit(length, "a")
    queue.post(length, "a")
    queue.post(length, 1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    queue.submit(length)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    del executor, future


async def coroutines(queue: inturn.FIFOQueue, loop: asyncio.AbstractEventLoop) -> None:
    assert_type(await queue.run(fetch, "a"), bytes)
    assert_type(queue.run_on(loop, fetch, "a"), inturn.Future[bytes])
    async with queue as entered:
        assert_type(entered, inturn.FIFOQueue)
    queue.run(length, "a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def tokens(queue: inturn.ActorQueue) -> None:
    def work(token: inturn.Token) -> None:
        with token as same:
            assert_type(same, inturn.Token)

    operation = queue.options(label="a", on_end=lambda end: print(end.outcome.name)).enqueue(work)
    assert_type(operation, inturn.Operation)
    assert_type(operation.wait(1.0).exception, "BaseException | None")
    assert_type(operation.state, inturn.State)
    with queue as same_queue:
        assert_type(same_queue, inturn.ActorQueue)


def options(queue: inturn.OperationQueue, first: inturn.Operation) -> None:
    retry = inturn.Retry(attempts=3, delay=0.5, decide=lambda error, attempts: attempts < 2)
    queue.options(priority=1, after=[first, queue.submit(int)], retry=retry).enqueue(
        inturn.Token.finish
    )
    queue.options(condition=lambda: inturn.Verdict.SKIP, exclusive=["disk"]).enqueue(
        inturn.Token.finish
    )
    queue.options(prio=1).enqueue(inturn.Token.finish)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    queue.options(priority="1").enqueue(inturn.Token.finish)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(queue.resolve("key"), int)
    assert_type(first.progress.total, int)
    queue.max_concurrent += 1
    queue.rate = inturn.Rate(5, 1.0)
    assert_type(queue.rate, inturn.Rate)


async def batches_and_events(queue: inturn.FIFOQueue) -> None:
    works: list[inturn.Work] = [inturn.Token.finish] * 2
    batch = queue.options(priority=0).batch(
        works, policy=inturn.BatchPolicy.COLLECT, edges=[(1, 0)]
    )
    assert_type(await batch, inturn.BatchEnd)
    assert_type(batch.wait().ends, "list[inturn.End]")
    assert_type(batch.ends, "list[inturn.End | None]")
    async for event in queue.events():
        assert_type(event, inturn.Event)
        assert_type(event.outcome, "inturn.Outcome | None")
