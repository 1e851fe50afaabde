"""What the kinds of queues do differently: concurrent and actor queues; and plain functions."""

from __future__ import annotations

import gc
import threading

import pytest

import inturn
from support import LIMIT, Gate, each, finish, join

Outcome = inturn.Outcome


# Plain functions ------------------------------------------------------------------------------


def test_posted_functions_run_in_order_and_with_their_arguments() -> None:
    trace: list[tuple[int, str]] = []

    def note(number: int, *, word: str) -> None:
        trace.append((number, word))

    with inturn.FIFOQueue() as queue:
        for number in range(1_000):
            queue.post(note, number, word="x")
        queue.post(trace.clear)
        queue.post(note, 1, word="last")
    assert trace == [(1, "last")]


def test_posts_and_enqueues_keep_one_order() -> None:
    trace: list[int] = []
    with inturn.FIFOQueue() as queue:
        for number in range(0, 999, 3):
            queue.post(trace.append, number)
            queue.submit(trace.append, number + 1)
            queue.enqueue(each(lambda _, n=number: trace.append(n + 2), finish))  # type: ignore[misc]
    assert trace == list(range(999))


def test_a_post_that_raises_fails_and_does_not_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_type))
    queue = inturn.FIFOQueue()
    queue.post(divmod, 1, 0)
    queue.post(int)
    queue.drain(LIMIT)
    assert seen == [ZeroDivisionError]
    statistics = queue.statistics()
    assert (statistics.failed, statistics.finished) == (1, 1)
    queue.destroy()


class Stop(BaseException):
    pass


@pytest.mark.parametrize("kind", [LookupError, Stop, SystemExit, GeneratorExit])
def test_whatever_a_post_raises_is_told_with_the_name_of_its_queue(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[object, str]] = []

    def fail() -> None:
        raise raised

    def tell(told: threading.ExceptHookArgs) -> None:
        assert told.thread is not None
        seen.append((told.exc_value, told.thread.name))

    raised = kind()
    monkeypatch.setattr(threading, "excepthook", tell)
    with inturn.FIFOQueue("news") as queue:
        queue.post(fail)
        queue.post(int)
        queue.drain(LIMIT)
        assert (queue.statistics().failed, queue.statistics().finished) == (1, 1)
    ((error, name),) = seen
    assert error is raised
    assert "'news'" in name


def test_what_a_post_raises_is_told_although_it_cannot_be_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unnamed:
        def __call__(self) -> None:
            raise LookupError

        def __repr__(self) -> str:
            raise ValueError

    seen: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_type))
    with inturn.FIFOQueue() as queue:
        queue.post(Unnamed())
    assert seen == [LookupError]


def test_a_cancelled_post_never_runs_and_is_forgotten() -> None:
    from inturn import _callbacks

    ran: list[int] = []
    with inturn.FIFOQueue() as queue:
        kept = len(_callbacks.entries)
        queue.suspend()
        for number in range(100):
            queue.post(ran.append, number)
        assert queue.statistics().pending == 100
        queue.cancel_all()
        queue.drain(LIMIT)
        assert queue.statistics().cancelled == 100
        queue.resume()
        assert len(_callbacks.entries) == kept
    assert ran == []


def test_a_dropped_queue_goes_on_with_what_was_posted_and_submitted() -> None:
    release, done = Gate("the release"), Gate("the last function")
    queue = inturn.FIFOQueue()
    queue.post(release.wait)
    queue.submit(int)
    queue.post(done.open)
    del queue
    gc.collect()
    release.open()
    done.wait()


# Work that blocks -----------------------------------------------------------------------------


def test_work_that_blocks_holds_up_its_own_queue_only() -> None:
    # Given more blocked queues than a small pool could handle
    release = Gate("the release")
    blocked = [inturn.FIFOQueue() for _ in range(100)]
    for queue in blocked:
        queue.post(release.wait)
    # Then another queue continues, and all of them end
    with inturn.FIFOQueue() as other:
        assert other.submit(int).result(LIMIT) == 0
    release.open()
    for queue in blocked:
        queue.drain(LIMIT)
        queue.destroy()


def test_a_thousand_queues_share_few_threads() -> None:
    done: list[int] = []
    queues = [inturn.FIFOQueue() for _ in range(1_000)]
    for number, queue in enumerate(queues):
        queue.post(done.append, number)
    for queue in queues:
        queue.drain(LIMIT)
        queue.destroy()
    assert sorted(done) == list(range(1_000))


def test_a_queue_may_wait_for_another_one() -> None:
    with inturn.FIFOQueue() as one, inturn.FIFOQueue() as two:
        assert one.submit(lambda: two.submit(int).result(LIMIT)).result(LIMIT) == 0


# Concurrent queues ----------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 3])
def test_at_most_so_many_operations_run_at_a_time(limit: int) -> None:
    lock = threading.Lock()
    running = most = 0
    full = threading.Barrier(limit)

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait(LIMIT)  # that many do run at once
        with lock:
            running -= 1

    with inturn.OperationQueue(max_concurrent=limit) as queue:
        for _ in range(10 * limit):
            queue.post(work)
    assert most == limit


def test_operations_are_taken_up_in_order() -> None:
    begun: list[int] = []
    tokens: list[inturn.Token] = []
    with inturn.OperationQueue(max_concurrent=1) as queue:
        for number in range(100):
            queue.enqueue(each(lambda _, n=number: begun.append(n), finish))  # type: ignore[misc]
    assert begun == list(range(100))
    assert tokens == []


def test_an_operation_holds_its_place_until_its_token_is_finished() -> None:
    tokens: list[inturn.Token] = []
    two = threading.Semaphore(0)
    third = Gate("the third work")
    with inturn.OperationQueue(max_concurrent=2) as queue:
        for _ in range(2):
            queue.enqueue(each(tokens.append, lambda _: two.release()))
        last = queue.enqueue(each(third.open, finish))
        assert two.acquire(timeout=LIMIT)
        assert two.acquire(timeout=LIMIT)
        assert last.state is inturn.State.PENDING
        tokens.pop().finish()
        third.wait()
        tokens.pop().finish()


# Actor queues ---------------------------------------------------------------------------------


def test_the_next_operation_begins_when_the_one_before_it_has_returned() -> None:
    tokens: list[inturn.Token] = []
    second = Gate("the second work")
    with inturn.ActorQueue() as queue:
        first = queue.enqueue(tokens.append)
        queue.enqueue(each(second.open, finish))
        second.wait()
        assert first.state is inturn.State.RUNNING
        tokens.pop().finish()
        assert first.wait(LIMIT).outcome is Outcome.FINISHED


def test_segments_never_overlap_and_come_in_order() -> None:
    trace: list[str] = []
    inside: list[str] = []

    def segment(name: str) -> None:
        inside.append(name)
        trace.append(name)
        assert inside.pop() == name
        assert inside == []

    def work(number: int) -> inturn.Work:
        def last(token: inturn.Token) -> None:
            segment(f"{number}c")
            token.finish()

        def middle(token: inturn.Token) -> None:
            segment(f"{number}b")
            threading.Thread(target=token.resume, args=(last,)).start()

        def first(token: inturn.Token) -> None:
            segment(f"{number}a")
            token.resume(middle)

        return first

    with inturn.ActorQueue() as queue:
        queue.suspend()
        for number in range(50):
            queue.enqueue(work(number))
        queue.resume()
    firsts = [name for name in trace if name.endswith("a")]
    assert firsts == [f"{number}a" for number in range(50)]
    assert len(trace) == 150


def test_a_segment_that_raises_fails_its_operation() -> None:
    def segment(token: inturn.Token) -> None:
        raise LookupError

    with inturn.ActorQueue() as queue:
        end = queue.enqueue(lambda token: token.resume(segment)).wait(LIMIT)
    assert end.outcome is Outcome.FAILED
    assert isinstance(end.exception, LookupError)


def test_only_an_actor_queue_has_segments() -> None:
    refused: list[type[BaseException]] = []

    def work(token: inturn.Token) -> None:
        try:
            token.resume(finish)
        except inturn.Error as error:
            refused.append(type(error))
        token.finish()

    with inturn.FIFOQueue() as queue:
        queue.enqueue(work)
    assert refused == [inturn.WrongKindError]


# Deadlines, clocks ----------------------------------------------------------------------------


def test_deadlines_are_of_the_queues_clock() -> None:
    tokens: list[inturn.Token] = []
    begun = Gate("the work")
    with inturn.ManualClock() as clock:
        queue = inturn.FIFOQueue(clock=clock)
        running = queue.options(max_run=10).enqueue(each(tokens.append, begun.open))
        waiting = queue.options(max_wait=5).enqueue(finish)
        begun.wait()
        clock.advance(4)
        assert waiting.state is inturn.State.PENDING
        clock.advance(1)
        end = waiting.wait(LIMIT)
        assert (end.outcome, end.cause) == (Outcome.TIMED_OUT, inturn.Cause.MAX_WAIT)
        clock.advance(5)
        end = running.wait(LIMIT)
        assert (end.outcome, end.cause) == (Outcome.TIMED_OUT, inturn.Cause.MAX_RUN)
        assert clock.now == 10
        with pytest.raises(inturn.AlreadyFinishedError):
            tokens[0].finish()
        with pytest.raises(inturn.BusyError):
            clock.close()
        queue.destroy()
    clock.close()


def test_a_place_is_held_at_the_deadline_or_freed() -> None:
    for free in (False, True):
        tokens: list[inturn.Token] = []
        begun, second = Gate("the work"), Gate("the second work")
        with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as queue:
            late = queue.options(max_run=1, free_at_max_run=free).enqueue(
                each(tokens.append, begun.open)
            )
            queue.enqueue(each(second.open, finish))
            begun.wait()
            clock.advance(1)
            assert late.wait(LIMIT).outcome is Outcome.TIMED_OUT
            assert tokens[0].cancelled
            if free:
                second.wait()
            else:
                assert not second.is_open
                with pytest.raises(inturn.AlreadyFinishedError):
                    tokens[0].finish()
                second.wait()
            queue.drain(LIMIT)
            queue.destroy()


def test_a_cancelled_operation_has_its_grace() -> None:
    begun = Gate("the work")
    tokens: list[inturn.Token] = []
    with inturn.ManualClock() as clock, inturn.FIFOQueue(clock=clock) as queue:
        operation = queue.options(cancel_grace=2).enqueue(each(tokens.append, begun.open))
        begun.wait()
        operation.cancel()
        clock.advance(2)
        end = operation.wait(LIMIT)
        assert (end.outcome, end.cause) == (Outcome.CANCELLED, inturn.Cause.GRACE)
        queue.destroy()


# Tokens as context managers -------------------------------------------------------------------


def test_a_token_is_a_context_manager() -> None:
    error = LookupError()

    def fail(token: inturn.Token) -> None:
        with token:
            raise error

    def cancel(token: inturn.Token) -> None:
        with token:
            token.cancel()

    def do_nothing(token: inturn.Token) -> None:
        with token:
            pass

    with inturn.FIFOQueue() as queue:
        assert queue.enqueue(do_nothing).wait(LIMIT).outcome is Outcome.FINISHED
        assert queue.enqueue(cancel).wait(LIMIT).outcome is Outcome.CANCELLED
        assert queue.enqueue(fail).wait(LIMIT).exception is error


def test_a_token_that_a_block_leaves_by_an_interrupt_fails_and_the_interrupt_goes_on() -> None:
    left: list[type[BaseException]] = []
    begun = Gate("the work")
    tokens: list[inturn.Token] = []

    def elsewhere() -> None:
        begun.wait()
        try:
            with tokens.pop():
                raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            left.append(type(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    with inturn.FIFOQueue() as queue:
        operation = queue.enqueue(each(tokens.append, begun.open))
        assert isinstance(operation.wait(LIMIT).exception, KeyboardInterrupt)
    join(thread)
    assert left == [KeyboardInterrupt]


# Listing queues and operations ----------------------------------------------------------------


def test_statistics_and_the_list_say_what_there_is() -> None:
    begun, release = Gate("the work"), Gate("the release")
    with inturn.FIFOQueue() as queue:
        running = queue.options(label="first").enqueue(each(begun.open, release.wait, finish))
        begun.wait()
        for number in range(3):
            queue.options(label=f"pending {number} \N{SNOWMAN}").enqueue(finish)
        running.cancel()
        queue.suspend()
        statistics = queue.statistics()
        assert (statistics.running, statistics.pending, statistics.suspends) == (1, 3, 1)
        infos = queue.operations()
        assert [info.label for info in infos] == [
            "first",
            *(f"pending {number} \N{SNOWMAN}" for number in range(3)),
        ]
        assert [info.state for info in infos] == [inturn.State.RUNNING] + 3 * [inturn.State.PENDING]
        assert [info.cancelled for info in infos] == [True, False, False, False]
        assert len(queue.operations(2)) == 2
        assert queue.operations(2**32 - 1) == infos  # takes room for what there is
        assert queue.operations(0) == []
        with pytest.raises(ValueError, match="limit of"):
            queue.operations(-1)
        assert inturn.statistics().queues >= 1
        queue.resume()
        release.open()


def test_what_is_not_what_it_should_be_is_refused() -> None:
    with inturn.FIFOQueue() as queue:
        for call in (
            lambda: queue.post(42),  # type: ignore[arg-type]
            lambda: queue.options(on_end=42).enqueue(finish),  # type: ignore[arg-type]
            lambda: inturn.set_report_handler(42),  # type: ignore[arg-type]
        ):
            with pytest.raises(TypeError, match="a function"):
                call()
        for time in (-1.0, float("nan")):
            for name in ("max_wait", "max_run", "stall", "cancel_grace"):
                with pytest.raises(ValueError, match="a time"):
                    queue.options(**{name: time}).enqueue(finish)  # type: ignore[arg-type]
        assert queue.options(max_wait=1e300).enqueue(finish).wait(LIMIT).outcome is Outcome.FINISHED
    for number in (0, -1, 2**32):
        with pytest.raises(ValueError, match="a number"):
            inturn.OperationQueue(max_concurrent=number)
        with pytest.raises(ValueError, match="a number"):
            inturn.Executor(threads=number)


def test_an_executor_may_be_drained_by_several_threads() -> None:
    executor = inturn.Executor(threads=3)
    queue = inturn.OperationQueue(max_concurrent=3, executor=executor)
    together = threading.Barrier(3)
    threads = [threading.Thread(target=executor.run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        queue.post(together.wait, LIMIT)
    queue.drain(LIMIT)
    with pytest.raises(inturn.WrongThreadError):
        executor.drain()
    executor.stop()
    join(*threads)
    with pytest.raises(inturn.TimedOutError):
        executor.wait(0.001)
    queue.post(int)
    executor.wait(LIMIT)
    executor.drain()
    queue.destroy()
    executor.close()


def test_a_drain_says_what_is_left() -> None:
    tokens: list[inturn.Token] = []
    begun = Gate("the work")
    with inturn.FIFOQueue("mine") as queue:
        queue.options(label="a").enqueue(each(tokens.append, begun.open))
        queue.options(label="b").enqueue(finish)
        begun.wait()
        said = "'mine'.*'a' is running, 'b' is pending"
        with pytest.raises(inturn.TimedOutError, match=said) as told:
            queue.drain(0)
        assert [info.label for info in told.value.left] == ["a", "b"]
        tokens.pop().finish()
        queue.drain(LIMIT)
