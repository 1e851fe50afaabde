"""An interrupt of the main thread comes out of the call that the user made, and loses nothing."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator
from typing import Any, Callable, NoReturn

import pytest

import inturn
from inturn import _operations
from inturn._library import lib, on_main_thread
from support import LIMIT, Gate, finish, join, run_python, until


@pytest.fixture
def executor() -> Iterator[inturn.Executor]:
    made = inturn.Executor()
    yield made
    made.close()


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def test_an_interrupted_end_comes_out_of_the_destroy_that_tells_it() -> None:
    queue = inturn.FIFOQueue()
    queue.suspend()
    queue.options(on_end=interrupt).enqueue(finish)
    with pytest.raises(KeyboardInterrupt):
        queue.destroy()
    executor = inturn.Executor()
    assert executor.drain() == 0, "it came again, out of another call"
    executor.close()


def test_an_interrupt_at_the_end_of_a_block_cancels_what_is_left() -> None:
    begun: list[inturn.Token] = []
    before = signal.signal(signal.SIGALRM, interrupt)
    queue = inturn.FIFOQueue()
    operations = [queue.enqueue(begun.append) for _ in range(8)]
    until("the first one", lambda: len(begun) == 1)

    def leave() -> None:
        with queue:
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    try:
        with pytest.raises(KeyboardInterrupt):
            leave()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert {operation.wait(LIMIT).outcome for operation in operations} == {inturn.Outcome.CANCELLED}
    assert len(begun) == 1


def test_a_future_whose_start_is_interrupted_is_failed_and_its_queue_goes_on(
    executor: inturn.Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with inturn.FIFOQueue(executor=executor) as queue:
        future = queue.submit(int)
        with monkeypatch.context() as patch:
            patch.setattr(inturn.Future, "_start", interrupt)
            with pytest.raises(KeyboardInterrupt):
                executor.drain()
        assert isinstance(future.exception(0), KeyboardInterrupt)
        later = queue.submit(int)
        executor.drain()
        assert later.result(0) == 0
        assert queue.statistics()[1:5] == (0, 0, 1, 1)


def test_a_future_whose_start_is_interrupted_is_not_cancelled_for_who_waits(
    executor: inturn.Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[BaseException | None] = []
    has_asked = Gate("the wait for the operation")
    take_end, failed = inturn.Future._take_end, inturn.Future._failed

    def take(future: inturn.Future[int]) -> None:
        take_end(future)
        has_asked.open()

    def fail_late(future: inturn.Future[int], error: BaseException) -> None:
        waits.start()
        has_asked.wait()
        failed(future, error)

    with inturn.FIFOQueue(executor=executor) as queue:
        future = queue.submit(int)
        waits = threading.Thread(target=lambda: errors.append(future.exception(LIMIT)))
        with monkeypatch.context() as patch:
            patch.setattr(inturn.Future, "_start", interrupt)
            patch.setattr(inturn.Future, "_take_end", take)
            patch.setattr(inturn.Future, "_failed", fail_late)
            with pytest.raises(KeyboardInterrupt):
                executor.drain()
        join(waits)
    assert isinstance(errors[0], KeyboardInterrupt)


def test_an_operation_whose_start_is_interrupted_is_failed_and_its_queue_goes_on(
    executor: inturn.Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with inturn.FIFOQueue(executor=executor) as queue:
        operation = queue.enqueue(finish)
        with monkeypatch.context() as patch:
            patch.setattr(_operations, "Token", interrupt)
            with pytest.raises(KeyboardInterrupt):
                executor.drain()
        end = operation.wait(0)
        assert end.outcome is inturn.Outcome.FAILED
        assert isinstance(end.exception, KeyboardInterrupt)
        later = queue.enqueue(finish)
        executor.drain()
        assert later.wait(0).outcome is inturn.Outcome.FINISHED


def test_a_post_that_is_interrupted_is_over(executor: inturn.Executor) -> None:
    with inturn.FIFOQueue(executor=executor) as queue:
        queue.post(interrupt)
        queue.post(int)
        with pytest.raises(KeyboardInterrupt):
            executor.drain()
        executor.drain()
        assert queue.statistics()[1:5] == (0, 0, 1, 1)


def passes(program: str) -> None:
    ended = run_python(program)
    assert ended.returncode == 0, ended.stderr


def test_a_storm_of_interrupts_loses_no_token() -> None:
    passes("""
import inturn, random, signal, sys, time
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
sys.unraisablehook = lambda told: None  # operations that failed, and nobody was told
executor = inturn.Executor()
fifo = inturn.FIFOQueue(executor=executor)
some = inturn.OperationQueue(max_concurrent=4, executor=executor)
interrupts, end = 0, time.monotonic() + 2
def drain(seconds):
    global interrupts
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        for _ in range(5):
            executor.drain()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
while time.monotonic() < end:
    futures = [fifo.submit(int) for _ in range(40)]
    operations = [some.enqueue(lambda token: token.finish()) for _ in range(10)]
    [fifo.post(int) for _ in range(10)]
    drain(random.random() * 0.0006 + 1e-6)
    drain(0)
    for queue in (fifo, some):
        assert sum(queue.statistics()[1:3]) == 0, queue.statistics()
    assert all(future.done() for future in futures)
assert interrupts > 20, interrupts
""")


def test_a_drain_that_is_too_deep_for_what_it_would_call_calls_nothing() -> None:
    passes("""
import inturn, sys
executor = inturn.Executor()
queue = inturn.FIFOQueue(executor=executor)
def drain(depth):
    if depth == 0:
        executor.drain()
    else:
        drain(depth - 1)
refused = 0
for depth in range(sys.getrecursionlimit() - 60, sys.getrecursionlimit()):
    future, operation = queue.submit(int), queue.enqueue(lambda token: token.finish())
    try:
        drain(depth)
    except RecursionError:
        refused += 1
    executor.drain()
    assert future.result(0) == 0
    assert operation.wait(0).outcome is inturn.Outcome.FINISHED
assert 20 < refused < 60, refused
""")


def test_a_loop_that_is_too_deep_for_what_it_would_call_calls_it_later() -> None:
    passes("""
import asyncio, contextlib, inturn, sys
limit = sys.getrecursionlimit()
def deep(depth, function):
    return function() if depth == 0 else deep(depth - 1, function)
async def number():
    return 1
async def go_on(act, depth):
    queue, tokens = inturn.FIFOQueue(), []
    queue.enqueue(tokens.append)
    while not tokens:
        await asyncio.sleep(0)
    future = queue.submit(int)
    task = queue.run(number)
    tokens.pop().finish()
    with contextlib.suppress(Exception):
        deep(depth, lambda: act(future, task))
    await asyncio.wait_for(queue.drained(), 10)
    assert future.result(0) == 0
    queue.destroy()
def wait(future, _):
    with contextlib.suppress(inturn.TimedOutError):
        future.exception(0)
def cancel(_, task):
    task.cancel()
async def main():
    for depth in range(limit - 60, limit):
        await go_on(wait, depth)
        await go_on(cancel, depth)
        with contextlib.suppress(Exception):
            queue = inturn.FIFOQueue()
            deep(depth, lambda: queue.run(number))
    with inturn.FIFOQueue() as queue:
        assert await asyncio.wait_for(queue.run(number), 30) == 1
asyncio.run(main())
""")


def test_no_turn_is_lost_near_the_recursion_limit() -> None:
    passes("""
import asyncio, inturn, sys
limit = sys.getrecursionlimit()
def deep(depth, function):
    return function() if depth == 0 else deep(depth - 1, function)
def step(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        return True
async def number():
    return 1
async def main(depth):
    queue, made, left = inturn.FIFOQueue(), [], False
    await queue.__aenter__()
    waiting = asyncio.create_task(queue.__aenter__())
    waits = queue.run(number)
    await asyncio.sleep(0)
    try:
        deep(depth, lambda: made.append(queue.run(number)))
    except Exception:
        pass
    try:
        left = deep(depth, lambda: step(queue.__aexit__(None, None, None)))
    except Exception:
        pass
    if not left and queue._holders:
        await queue.__aexit__(None, None, None)
    await asyncio.wait_for(waiting, 10)
    await queue.__aexit__(None, None, None)
    for task in [waits, *made, queue.run(number)]:
        assert await asyncio.wait_for(task, 10) == 1
    assert not queue._holders
    queue.destroy()
    return left
results = [asyncio.run(main(depth)) for depth in range(limit - 60, limit)]
assert results.count(True) > 20
""")


def test_a_signal_handler_may_change_a_value_whose_changes_are_read() -> None:
    for latest in (False, True):
        passes(f"""
import asyncio, inturn, signal, time
value, sets = inturn.Value(0), 0
def handle(*_):
    global sets
    sets += 1
    value.set(sets)
signal.signal(signal.SIGALRM, handle)
async def main():
    end = time.monotonic() + 0.5
    number = 0
    async for change in value.changes(latest={latest}):
        number += 1
        if time.monotonic() > end:
            break
        if number % 50 == 0:
            await asyncio.sleep(0)
        value.set(-number)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert sets
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
asyncio.run(main())
""")


def test_a_signal_handler_may_enqueue_during_the_first_enqueue() -> None:
    passes("""
import inturn, signal, sys
queue, wrong = inturn.FIFOQueue(), []
def handle(*_):
    try:
        queue.options(label="handler").enqueue(lambda token: token.finish())
    except ImportError as error:
        wrong.append(error)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
for _ in range(100):
    queue.options(label="main").enqueue(lambda token: token.finish())
signal.setitimer(signal.ITIMER_REAL, 0)
queue.destroy()
sys.exit(len(wrong))
""")


def test_a_fork_leaves_no_lock_behind() -> None:
    """Other threads are making the same calls as the child."""
    passes("""
import faulthandler, inturn, os, sys, threading, time
sys.setswitchinterval(1e-6)
value, queue = inturn.Value(0), inturn.FIFOQueue()
def change():
    while True:
        value.set(1)
def submit():
    while True:
        queue.submit(int).result()
for target in (change, submit):
    threading.Thread(target=target, daemon=True).start()
end, status = time.monotonic() + 1.5, 0
while time.monotonic() < end and status == 0:
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(10, exit=True)
        with inturn.Value(1) as other, inturn.FIFOQueue() as mine:
            other.set(2)
            mine.submit(int).result()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
os._exit(1 if status else 0)
""")


def test_a_long_wait_of_the_main_thread_sleeps_until_its_end_or_a_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait = lib.inturn_queue_drain_or_list
    waits: list[bool] = []  # whether each is on the main thread
    steps: list[Callable[[], object]] = []  # run by waits on another thread

    def waiting(*arguments: Any) -> Any:
        waits.append(on_main_thread())
        if not waits[-1]:
            steps.pop(0)()
        return wait(*arguments)

    begun: list[inturn.Token] = []
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with inturn.FIFOQueue() as queue:
            queue.enqueue(begun.append)
            until("the operation", lambda: len(begun) == 1)
            monkeypatch.setattr(lib, wait.__name__, waiting)
            steps += [lambda: os.kill(os.getpid(), signal.SIGUSR1), begun[0].finish]
            with pytest.raises(KeyboardInterrupt):
                queue.drain()
            assert waits == [True, False]
            queue.drain(LIMIT)
            assert waits == [True, False] * 2
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_long_wait_for_work_sleeps_until_there_is_some(
    executor: inturn.Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = inturn.FIFOQueue(executor=executor)
    sleeps: list[float] = []

    class Poll:
        def __init__(self) -> None:
            self._poll = poll()

        def register(self, *what: int) -> None:
            self._poll.register(*what)

        def poll(self, ms: float) -> object:
            sleeps.append(ms)
            threading.Thread(target=queue.post, args=(int,)).start()
            return self._poll.poll(ms)

    poll = select.poll
    monkeypatch.setattr(select, "poll", Poll)
    executor.wait()
    assert executor.drain() == 1
    with pytest.raises(inturn.TimedOutError):
        executor.wait(0.01)
    assert len(sleeps) == 1
    queue.destroy()
