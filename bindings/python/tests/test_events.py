"""Events of queues, by callbacks and by asyncio."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref

import pytest

import inturn
from inturn import _callbacks
from support import LIMIT, finish, join

Kind = inturn.EventKind


def test_a_callback_is_told_everything_in_order() -> None:
    told: list[inturn.Event] = []
    with inturn.FIFOQueue(on_event=told.append) as queue:
        queue.suspend()
        queue.options(label="a").enqueue(finish)
        queue.enqueue(lambda token: token.cancel())
        queue.resume()
        queue.drain(LIMIT)
    assert [(event.kind.name, event.operation, event.label) for event in told] == [
        ("SUSPENDED", 0, None),
        ("ENQUEUED", 1, "a"),
        ("ENQUEUED", 2, None),
        ("RESUMED", 0, None),
        ("STARTED", 1, "a"),
        ("ENDED", 1, "a"),
        ("STARTED", 2, None),
        ("ENDED", 2, None),
        ("IDLE", 0, None),
        ("CLOSED", 0, None),
    ]
    outcomes = [event.outcome for event in told if event.kind is Kind.ENDED]
    assert outcomes == [inturn.Outcome.FINISHED, inturn.Outcome.CANCELLED]
    assert [event.at_ns for event in told] == sorted(event.at_ns for event in told)


def test_a_retry_and_a_joined_one_are_told() -> None:
    told: list[inturn.Event] = []
    attempts: list[int] = []

    def work(token: inturn.Token) -> None:
        attempts.append(1)
        token.fail(LookupError()) if len(attempts) == 1 else token.finish()

    with inturn.FIFOQueue(on_event=told.append) as queue:
        queue.suspend()
        queue.options(key="k", retry=inturn.Retry(2)).enqueue(work)
        queue.options(key="k", join=True).enqueue(work)
        queue.resume()
    kinds = [event.kind for event in told if event.operation]
    assert kinds.count(Kind.RESTARTING) == kinds.count(Kind.JOINED) == 1
    assert [event.cause for event in told if event.kind is Kind.ENDED] == [
        inturn.Cause.NONE,
        inturn.Cause.JOINED,
    ]


def test_an_exception_in_a_callback_does_not_stop_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_type))
    with inturn.FIFOQueue(on_event=lambda event: 1 // 0) as queue:
        assert queue.enqueue(finish).wait(LIMIT).outcome is inturn.Outcome.FINISHED
    assert set(seen) == {ZeroDivisionError}


async def read(queue: inturn.Queue) -> list[str]:
    return [event.kind.name async for event in queue.events()]


def test_several_readers_get_all_events_from_when_they_asked() -> None:
    async def main() -> None:
        queue = inturn.FIFOQueue(events=True)
        early = asyncio.ensure_future(read(queue))
        await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.wrap_future(queue.submit(int)), LIMIT)
        queue.drain(LIMIT)
        late = asyncio.ensure_future(read(queue))
        await asyncio.sleep(0)
        queue.close()
        queue.destroy()
        names = await asyncio.wait_for(early, LIMIT)
        assert names == ["ENQUEUED", "STARTED", "ENDED", "IDLE", "CLOSED"]
        assert await asyncio.wait_for(late, LIMIT) == ["CLOSED"]
        assert await read(queue) == []  # of a queue that is gone

    asyncio.run(main())


def test_readers_may_be_in_several_loops() -> None:
    queue = inturn.OperationQueue(events=True)
    readers = [queue.events() for _ in range(3)]
    counts: list[int] = []

    async def count(events: inturn.Events) -> None:
        counts.append(len([event async for event in events if event.kind is Kind.ENDED]))

    threads = [
        threading.Thread(target=lambda events=events: asyncio.run(count(events)))
        for events in readers
    ]
    for thread in threads:
        thread.start()
    with queue:
        for _ in range(300):
            queue.submit(int)
    join(*threads)
    assert counts == [300] * 3


def test_a_reader_has_one_task_and_can_be_left() -> None:
    async def main() -> None:
        with inturn.FIFOQueue(events=True) as queue:
            events = queue.events()
            first = asyncio.ensure_future(events.__anext__())
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="another task"):
                await events.__anext__()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            queue.suspend()
            queue.resume()
            assert (await events.__anext__()).kind is Kind.SUSPENDED
            await events.aclose()
            assert [event async for event in events] == []

    asyncio.run(main())


def test_a_dropped_reader_keeps_nothing() -> None:
    kept = len(_callbacks.entries)
    with inturn.FIFOQueue(events=True) as queue:
        reader = weakref.ref(queue.events())
        gc.collect()
        assert reader() is None
        queue.submit(int).result(LIMIT)
    assert len(_callbacks.entries) == kept


def test_a_queue_without_events_says_so() -> None:
    with inturn.FIFOQueue() as queue, pytest.raises(inturn.UnsupportedError, match="events=True"):
        queue.events()


def test_what_is_not_callable_is_refused() -> None:
    with pytest.raises(TypeError):
        inturn.FIFOQueue(on_event=3)  # type: ignore[arg-type]
