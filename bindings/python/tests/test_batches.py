"""Batches: operations with one completion."""

from __future__ import annotations

import asyncio
import gc
import weakref
from functools import partial

import pytest

import inturn
from inturn import _callbacks
from support import LIMIT, Gate, each, finish, until

Cause = inturn.Cause
Outcome = inturn.Outcome
Policy = inturn.BatchPolicy


def giving(result: object) -> inturn.Work:
    return lambda token: token.finish(result)


def raising(token: inturn.Token) -> None:
    raise LookupError


def test_results_are_in_the_lists_order_whatever_order_they_ended_in() -> None:
    tokens: list[inturn.Token] = []
    told: list[inturn.BatchEnd] = []
    with inturn.OperationQueue(max_concurrent=3) as queue:
        batch = queue.batch([tokens.append, giving(1), giving(2)], on_end=told.append)
        until("two ends", lambda: batch.progress.completed == 2)
        until("their delivery", lambda: batch.ends.count(None) == 1)
        with pytest.raises(inturn.TimedOutError):
            batch.wait(0)
        assert [end and end.result for end in batch.ends] == [None, 1, 2]
        assert batch.progress == (2, 3)
        tokens.pop().finish(0)
        end = batch.wait(LIMIT)
        assert (end.outcome, end.exception, end.decided_by, end.finished) == (
            Outcome.FINISHED,
            None,
            None,
            3,
        )
        assert [end.result for end in batch] == [0, 1, 2]
        assert len(batch) == 3
    assert told == [end]
    assert not batch.cancel()


@pytest.mark.parametrize(
    ("policy", "enough", "outcome", "decided_by", "outcomes"),
    [
        (Policy.ALL, 0, Outcome.FAILED, 1, "FINISHED FAILED FINISHED FINISHED"),
        (Policy.FIRST_ERROR, 0, Outcome.FAILED, 1, "FINISHED FAILED CANCELLED CANCELLED"),
        (Policy.COLLECT, 0, Outcome.FINISHED, None, "FINISHED FAILED FINISHED FINISHED"),
        (Policy.ENOUGH, 2, Outcome.FINISHED, None, "FINISHED FAILED FINISHED CANCELLED"),
        (Policy.ENOUGH, 4, Outcome.FAILED, 1, "FINISHED FAILED FINISHED FINISHED"),
    ],
)
def test_the_policy_decides(
    policy: inturn.BatchPolicy,
    enough: int,
    outcome: Outcome,
    decided_by: int | None,
    outcomes: str,
) -> None:
    with inturn.FIFOQueue() as queue:
        works = [finish, raising, finish, finish]
        end = queue.batch(works, policy=policy, enough=enough).wait(LIMIT)
    assert (end.outcome, end.decided_by) == (outcome, decided_by)
    assert isinstance(end.exception, LookupError) == (decided_by == 1)
    assert " ".join(one.outcome.name for one in end.ends) == outcomes


def test_edges_say_what_comes_after_what() -> None:
    order: list[str] = []
    tokens: dict[str, inturn.Token] = {}

    def holding(name: str) -> inturn.Work:
        def work(token: inturn.Token) -> None:
            tokens[name] = token
            order.append(name)

        return work

    def has_started(names: str) -> bool:
        return sorted(order) == sorted(names)

    with inturn.OperationQueue(max_concurrent=4) as queue:
        works = [holding(name) for name in "abcd"]
        batch = queue.batch(works, edges=[(3, 1), (3, 2), (1, 0), (2, 0)])
        for name, so_far in (("a", "a"), ("c", "abc"), ("b", "abc"), ("d", "abcd")):
            until("the starts", partial(has_started, so_far))
            tokens[name].finish(name)
        assert [end.result for end in batch] == list("abcd")
    assert order[0] == "a"
    assert order[3] == "d"


def test_an_edge_from_a_failure_may_cancel() -> None:
    with inturn.OperationQueue() as queue:
        batch = queue.options(after_policy=inturn.AfterPolicy.FINISHED).batch(
            [raising, finish, finish], edges=iter([(1, 0), (2, 1)])
        )
        ends = batch.wait(LIMIT).ends
    assert [end.outcome for end in ends] == [Outcome.FAILED, Outcome.CANCELLED, Outcome.CANCELLED]
    assert [end.cause for end in ends[1:]] == [Cause.DEPENDENCY] * 2


def test_edges_that_are_none_are_refused() -> None:
    with inturn.OperationQueue() as queue:
        for edge in (0, 0), (0, 1), (2, 0), (1, -1):
            with pytest.raises(ValueError, match="cannot come after"):
                queue.batch([finish, finish], edges=[edge])
        for wrong in [(1, 0.5)], [(1, None)], 7, [5]:
            with pytest.raises(TypeError):
                queue.batch([finish, finish], edges=wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="unpack"):
            queue.batch([finish, finish], edges=[(1, 0, 0)])  # type: ignore[list-item]


def test_an_empty_batch_ends_at_once() -> None:
    with inturn.FIFOQueue() as queue:
        assert queue.batch([]).wait(LIMIT) == (Outcome.FINISHED, None, None, 0, [])


def test_a_batch_is_cancelled_as_one() -> None:
    with inturn.FIFOQueue() as queue:
        queue.suspend()
        batch = queue.batch([finish] * 3)
        assert batch.cancel()
        assert not batch.cancel()
        queue.resume()
        end = batch.wait(LIMIT)
    assert (end.outcome, end.decided_by, end.finished) == (Outcome.CANCELLED, 0, 0)
    assert {one.cause for one in end.ends} == {Cause.REQUEST}


def test_options_are_those_of_each_operation() -> None:
    attempts: list[int] = []

    def work(token: inturn.Token) -> None:
        attempts.append(1)
        if len(attempts) == 1:
            raise LookupError
        token.finish()

    with inturn.FIFOQueue() as queue:
        end = queue.options(label="pair", retry=inturn.Retry(2)).batch([work, work]).wait(LIMIT)
    assert [(one.label, one.attempts) for one in end.ends] == [("pair", 2), ("pair", 1)]


def test_a_refused_batch_leaves_nothing() -> None:
    kept = len(_callbacks.entries)
    with inturn.FIFOQueue(capacity=2) as queue:
        queue.suspend()
        with pytest.raises(inturn.FullError):
            queue.options(key="k").batch([finish] * 3)
        for options in ({"policy": Policy.ENOUGH}, {"enough": -1}, {"policy": 9}):
            with pytest.raises(ValueError):  # noqa: PT011
                queue.batch([finish], **options)
        with pytest.raises(ValueError):  # noqa: PT011
            queue.options(key="k", join=True).batch([finish])
        for works in ([None], [finish, 1]):
            with pytest.raises(TypeError):
                queue.batch(works)  # type: ignore[arg-type]
        assert (queue.statistics().pending, queue._peers._by_key) == (0, {})
        queue.resume()
    assert len(_callbacks.entries) == kept


def test_waiting_inside_its_own_work_is_refused() -> None:
    batches: list[inturn.Batch] = []
    refused: list[str] = []
    stored = Gate("the batch's object")

    def work(token: inturn.Token) -> None:
        stored.wait()
        with pytest.raises(inturn.DeadlockError):
            batches[0].wait()
        refused.append("wait")
        token.finish()

    with inturn.FIFOQueue() as queue:
        batches.append(queue.batch([work]))
        stored.open()
        assert batches[0].wait(LIMIT).finished == 1
    assert refused == ["wait"]


def test_a_batch_is_awaited_by_several_tasks() -> None:
    async def main() -> list[inturn.BatchEnd]:
        tokens: list[inturn.Token] = []
        with inturn.FIFOQueue() as queue:
            begun = Gate("the work")
            batch = queue.batch([each(tokens.append, begun.open)])

            async def wait() -> inturn.BatchEnd:
                return await batch

            tasks = [asyncio.ensure_future(wait()) for _ in range(3)]
            await asyncio.sleep(0)
            tasks[2].cancel()
            begun.wait()
            tokens.pop().finish("result")
            ends = await asyncio.wait_for(asyncio.gather(*tasks[:2]), LIMIT)
            assert batch._waiters == []
            return [*ends, await wait()]

    ends = asyncio.run(main())
    assert [end.ends[0].result for end in ends] == ["result"] * 3


def test_a_dropped_batch_goes_on_and_nothing_is_kept() -> None:
    kept = len(_callbacks.entries)
    told: list[inturn.BatchEnd] = []
    with inturn.OperationQueue() as queue:
        batch = queue.batch([giving(number) for number in range(1_000)], on_end=told.append)
        alive = weakref.ref(batch)
        del batch
    assert [end.result for end in told[0].ends] == list(range(1_000))
    told.clear()
    gc.collect()
    assert alive() is None
    assert len(_callbacks.entries) == kept


def test_a_destroyed_queue_ends_its_batches() -> None:
    told: list[inturn.BatchEnd] = []
    queue = inturn.FIFOQueue()
    queue.suspend()
    batch = queue.batch([finish, finish], on_end=told.append)
    queue.destroy()
    assert (told[0].outcome, told[0].ends[1].cause) == (Outcome.CANCELLED, Cause.DESTROYED)
    assert batch.wait(0) == told[0]
