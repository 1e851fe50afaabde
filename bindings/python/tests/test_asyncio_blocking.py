"""Waits that block a loop's thread end, as long as they need no turn of the loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
import weakref
from types import FrameType
from typing import Any, Callable, Union

import pytest

import inturn
import inturn.loops.asyncio
from inturn import _asyncio_home
from inturn._asyncio_home import home_here, home_of
from support import LIMIT, join, run, until

OneAtATime = Union[inturn.FIFOQueue, inturn.OperationQueue]
MAKE: dict[str, Callable[..., OneAtATime]] = {
    "FIFOQueue": inturn.FIFOQueue,
    "OperationQueue": lambda **options: inturn.OperationQueue(max_concurrent=1, **options),
}


@pytest.fixture(params=MAKE)
def make(request: pytest.FixtureRequest) -> Callable[..., OneAtATime]:
    """Makes a queue that runs one operation at a time."""
    return MAKE[request.param]


async def nothing() -> None:
    pass


class Busy:
    """An operation that runs until its token is finished."""

    def __init__(self, queue: inturn.Queue) -> None:
        self._tokens: list[inturn.Token] = []
        queue.enqueue(self._tokens.append)
        until("the operation that is running", lambda: bool(self._tokens))

    def finish(self) -> None:
        self._tokens.pop().finish()

    def finish_on_another_thread(self) -> None:
        thread = threading.Thread(target=self.finish)
        thread.start()
        thread.join(LIMIT)


@pytest.mark.parametrize("options", [{"events": True}, {"on_event": lambda _: None}, {}])
def test_a_queue_that_tells_its_events_is_drained_by_who_blocks_the_loop(
    options: dict[str, Any], make: Callable[..., OneAtATime]
) -> None:
    """The event of its close is called by the loop, unless the wait sees to it."""

    async def main() -> None:
        with make(**options) as queue:
            await queue.run(nothing)
            queue.close()
            queue.drain(LIMIT)

    run(main)


WAITS: dict[str, Callable[[inturn.Queue, Any, Any], object]] = {
    "result": lambda _queue, future, _operation: future.result(LIMIT),
    "wait": lambda _queue, _future, operation: operation.wait(LIMIT),
    "drain": lambda queue, _future, _operation: queue.drain(LIMIT),
}


@pytest.mark.parametrize("wait", WAITS)
def test_what_the_loop_was_given_to_call_is_called_though_it_is_blocked(
    wait: str, make: Callable[..., OneAtATime]
) -> None:
    async def main() -> None:
        with make() as queue:
            busy = Busy(queue)
            future, operation = queue.submit(int), queue.enqueue(inturn.Token.finish)
            queue.run(nothing).cancel()  # the queue is the loop's from now on
            busy.finish_on_another_thread()  # and so the loop is to call the function
            WAITS[wait](queue, future, operation)

    run(main)


def test_what_times_out_while_the_loop_is_blocked_is_told(make: Callable[..., OneAtATime]) -> None:
    async def main() -> None:
        told: list[inturn.End] = []
        with inturn.ManualClock() as clock, make(clock=clock) as queue:
            busy = Busy(queue)
            short = queue.options(on_end=told.append, max_wait=1)
            future = short.submit(int)
            queue.run(nothing).cancel()
            clock.advance(1)
            with pytest.raises(inturn.TimedOutError):
                future.result(LIMIT)
            assert [end.outcome for end in told] == [inturn.Outcome.TIMED_OUT]
            busy.finish()

    run(main)


def test_another_queue_of_the_loop_that_the_wait_depends_on_goes_on() -> None:
    async def main() -> None:
        with inturn.FIFOQueue("waited for") as one, inturn.FIFOQueue("before it") as two:
            busy = Busy(two)
            before = two.submit(int)
            two.run(nothing).cancel()
            behind = one.options(after=[before]).submit(int)
            # While the loop's thread waits, that is: the library reports no such moment.
            finishing = threading.Timer(0.01, busy.finish)
            finishing.start()
            assert behind.result(LIMIT) == 0
            finishing.join(LIMIT)

    run(main)


def test_a_value_whose_observers_the_loop_is_to_call_is_drained_by_who_blocks_it() -> None:
    async def main() -> None:
        told: list[int] = []
        with inturn.FIFOQueue() as queue, inturn.Value(0) as value:
            await queue.run(nothing)  # the queue is the loop's from now on
            with value.observe(lambda change: told.append(change.new), queue=queue):
                value.value = 1
                value.drain(LIMIT)
                assert told == [1]

    run(main)


def test_what_the_loop_is_to_call_changes_a_value_for_which_it_is_blocked() -> None:
    async def main() -> None:
        with inturn.FIFOQueue() as queue, inturn.Value(0) as value:
            busy = Busy(queue)
            queue.post(value.set, 1)
            queue.run(nothing).cancel()  # the queue is the loop's from now on
            busy.finish_on_another_thread()
            assert value.wait_for(bool, LIMIT / 3) == 1

    run(main)


def test_an_observer_that_waits_for_what_the_loop_was_given_is_waited_for() -> None:
    async def main() -> None:
        begun = threading.Event()
        with inturn.FIFOQueue() as queue, inturn.FIFOQueue() as other, inturn.Value(0) as value:
            busy = Busy(queue)
            future = queue.submit(int)
            queue.run(nothing).cancel()
            busy.finish_on_another_thread()  # and so the loop is to call the function

            def observe(_: inturn.Change) -> None:
                begun.set()
                concurrent.futures.wait([future], LIMIT)

            observation = value.observe(observe, queue=other)
            value.value = 1
            assert begun.wait(LIMIT)
            observation.cancel(LIMIT / 3)
            assert future.done()

    run(main)


def test_a_queue_that_comes_to_the_loop_while_that_is_blocked_goes_on() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        with inturn.FIFOQueue("waited for") as one, inturn.FIFOQueue("comes") as two:
            await one.run(nothing)
            busy = Busy(two)
            before = two.submit(int)
            behind = one.options(after=[before]).submit(int)

            def bring() -> None:
                two.run_on(loop, nothing).cancel()
                busy.finish()

            bringing = threading.Timer(0.01, bring)
            bringing.start()
            assert behind.result(LIMIT) == 0
            bringing.join(LIMIT)

    run(main)


def test_an_actors_coroutine_is_refused_where_the_loop_would_wait_for_itself() -> None:
    refused: list[str] = []

    async def main() -> None:
        with inturn.Executor() as executor:
            queue = inturn.ActorQueue(executor=executor)
            of_the_loop = inturn.loops.asyncio.attach(executor)
            with of_the_loop, pytest.raises(inturn.UnsupportedError) as caught:
                await queue.run(nothing)
            refused.append(str(caught.value))
            assert queue.statistics().failed == 1
            queue.destroy()

    thread = threading.Thread(target=run, args=(main,), daemon=True)  # since it may never end
    thread.start()
    join(thread)
    assert len(refused) == 1
    assert "ActorQueue" in refused[0]


def another_loop(others: list[Any]) -> None:
    """Comes or, if it is there, goes."""
    if others:
        home_of(others[0]).close()
        others.pop().close()
    else:
        others.append(asyncio.new_event_loop())
        home_of(others[0])


def another_turn(others: list[Any]) -> None:
    turns = home_here().turns
    if others:
        del turns[others.pop()]
    else:
        others.append(object())
        turns[others[0]] = next(iter(turns.values()))


@pytest.mark.parametrize("change", [another_loop, another_turn])
def test_a_blocking_wait_copes_with_loops_and_turns_that_come_and_go_meanwhile(
    change: Callable[[list[Any]], None],
) -> None:
    others: list[Any] = []
    traced = {id(vars(module)) for module in (_asyncio_home, weakref)}

    def trace(frame: FrameType, _event: str, _argument: object) -> Any:
        if id(frame.f_globals) not in traced:
            return None
        frame.f_trace_opcodes = True
        change(others)
        return trace

    async def wait(queue: inturn.Queue) -> None:
        usual = sys.gettrace()
        sys.settrace(trace)
        try:
            with pytest.raises(inturn.TimedOutError):
                queue.drain(0.1)
        finally:
            sys.settrace(usual)
            if others:
                change(others)

    async def main() -> None:
        with inturn.FIFOQueue() as queue, inturn.FIFOQueue() as other:
            queue.suspend()
            queue.post(int)
            await other.run(wait, queue)
            queue.resume()

    run(main)


def test_a_thread_with_the_ident_of_one_that_ran_a_loop_may_wait_for_its_coroutines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = inturn.FIFOQueue()
    loop = asyncio.new_event_loop()

    async def begin() -> asyncio.Future[None]:
        over = loop.create_future()

        async def stay() -> None:
            await over

        queue.run(stay)
        while queue.statistics().running == 0:
            await asyncio.sleep(0)
        return over

    def wait() -> None:
        with pytest.raises(concurrent.futures.TimeoutError):
            queue.submit(int).result(0.01)

    def on_a_thread(function: Callable[[], Any]) -> Any:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(function).result(LIMIT)

    with monkeypatch.context() as patch:
        patch.setattr(_asyncio_home, "get_ident", lambda: 1)  # as the system may have it
        over = on_a_thread(lambda: loop.run_until_complete(begin()))
        on_a_thread(wait)
    over.set_result(None)
    last = asyncio.wrap_future(queue.submit(int), loop=loop)
    assert loop.run_until_complete(asyncio.wait_for(last, LIMIT)) == 0
    loop.close()
    queue.destroy()
