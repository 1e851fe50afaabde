"""Programs in Python that are stuck, and what has to be said of each: see programs.py."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NoReturn

import anyio
import inturn
import trio

NOT_FINISHED = "its call has returned, its token has not been finished"
IN_CALL = "its call has not returned"
CALLBACK = "a callback of it has not returned"
# An await is no wait that the library knows, and a coroutine may take its time.
LATER = "silent: only coroutines wait for it, so it is told after 10 s"
HOUR = 3600

Main = Callable[[], object]
scenarios: dict[str, tuple[str, bool, Main]] = {}
kept: list[object] = []  # Whatever has to live.


def stuck(expected: str, *, is_new: bool = False) -> Callable[[Main], Main]:
    """A scenario, and what has to be said of it."""

    def add(main: Main) -> Main:
        scenarios[main.__name__] = expected, is_new, main
        return main

    return add


new = functools.partial(stuck, is_new=True)


def finish(token: inturn.Token) -> None:
    token.finish()


def sleep() -> NoReturn:
    while True:
        time.sleep(HOUR)


def block(token: inturn.Token) -> None:
    kept.append(token)
    sleep()


def fail(token: inturn.Token) -> None:
    token.fail(ValueError())


def started(queue: inturn.Queue, count: int = 1) -> None:
    """Waits until so many of its operations run."""
    while queue.statistics().running < count:
        time.sleep(0.001)


def moment() -> None:
    """Lets something happen that has no sign."""
    time.sleep(0.05)


def beside(function: Callable[..., object], *arguments: object) -> None:
    threading.Thread(target=function, args=arguments, daemon=True).start()


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def nothing() -> None:
    pass


def runs(main: Callable[[], Coroutine[Any, Any, object]]) -> Main:
    """What runs in a loop of asyncio."""

    @functools.wraps(main)
    def run() -> None:
        asyncio.run(main())

    return run


# What runs does not end -----------------------------------------------------------------


@stuck(f"load@network: {NOT_FINISHED}")
def token_is_kept() -> None:
    network = inturn.FIFOQueue("network")
    network.options(label="load").enqueue(kept.append)
    network.drain()


@stuck(f"load@network: {NOT_FINISHED}")
def token_is_kept_and_others_wait() -> None:
    network = inturn.FIFOQueue("network")
    network.options(label="load").enqueue(kept.append)
    network.post(int)
    sleep()


@stuck(f"load@network: {NOT_FINISHED}")
def operation_is_waited_for() -> None:
    network = inturn.OperationQueue("network")
    network.options(label="load").enqueue(kept.append).wait()


@stuck(f"?@network: {NOT_FINISHED}")
def block_of_with_is_left() -> None:
    with inturn.FIFOQueue("network") as network:
        network.enqueue(kept.append)


@stuck("refused: was lost")
def token_is_lost() -> None:
    network = inturn.FIFOQueue("network")
    network.options(label="load").enqueue(lambda token: None)
    network.drain()
    sleep()


@stuck(f"?@slow: {IN_CALL}")
def submitted_call_does_not_return() -> None:
    slow = inturn.FIFOQueue("slow")
    slow.submit(sleep).result()


@stuck(f"?@slow: {IN_CALL}")
def posted_call_does_not_return() -> None:
    slow = inturn.FIFOQueue("slow")
    slow.post(sleep)
    slow.drain()


@stuck(f"?@slow: {IN_CALL}")
def mapped_call_does_not_return() -> None:
    slow = inturn.OperationQueue("slow")
    kept.extend(slow.map(time.sleep, [HOUR]))


@new(f"?@slow: {IN_CALL}")
def queue_of_one_thread_is_shut_down() -> None:
    slow = inturn.FIFOQueue("slow", thread=True)
    slow.post(sleep)
    slow.shutdown()


@stuck(f"count@totals: {IN_CALL}")
def lock_of_who_drains() -> None:
    totals = inturn.FIFOQueue("totals")
    lock = threading.Lock()
    with lock:
        totals.options(label="count").submit(lock.acquire)
        totals.drain()


@new(f"first@steps: {IN_CALL}")
def first_waits_for_an_event_of_the_second() -> None:
    steps = inturn.FIFOQueue("steps")
    event = threading.Event()
    steps.options(label="first").submit(event.wait)
    steps.options(label="second").submit(event.set).result()


@stuck(f"@uploads: {CALLBACK}")
def end_callback_does_not_return() -> None:
    uploads = inturn.FIFOQueue("uploads")
    uploads.options(label="first", on_end=lambda end: sleep()).enqueue(finish)
    uploads.drain()


@new("refused: DeadlockError")
def done_callback_waits_for_a_later_one() -> None:
    uploads = inturn.FIFOQueue("uploads")
    go = threading.Event()
    first = uploads.submit(go.wait)
    second = uploads.submit(int)
    first.add_done_callback(lambda _: second.result())
    go.set()
    second.result()


@new(f"ask@dialogs: {IN_CALL}")
def condition_does_not_return() -> None:
    dialogs = inturn.FIFOQueue("dialogs")
    dialogs.options(label="ask", condition=sleep).enqueue(finish)
    dialogs.drain()


@new(f"load@network: {NOT_FINISHED}")
def cancelled_and_not_heeded() -> None:
    network = inturn.FIFOQueue("network")
    load = network.options(label="load").enqueue(kept.append)
    started(network)
    load.cancel()
    load.wait()


@stuck(
    "late@uploads: it was cut off, and has its place until its token is finished",
)
def place_is_held_after_a_deadline() -> None:
    uploads = inturn.FIFOQueue("uploads")
    uploads.options(label="late", max_run=0.001).enqueue(kept.append)
    uploads.submit(int).result()


@stuck(f"question@dialogs: {NOT_FINISHED}")
def question_has_no_answer() -> None:
    dialogs = inturn.InteractionQueue("dialogs", settle=0)
    dialogs.view_did_appear()
    dialogs.options(label="question").enqueue(kept.append)
    beside(dialogs.drain)
    inturn.run_main()


@stuck(f"first@network: {NOT_FINISHED}")
def all_places_are_taken() -> None:
    network = inturn.OperationQueue("network", max_concurrent=2)
    network.options(label="first").enqueue(kept.append)
    network.options(label="second").enqueue(kept.append)
    network.submit(int).result()


@new(f"load@network: {NOT_FINISHED}")
def token_is_handed_over() -> None:
    network = inturn.FIFOQueue("network")
    network.options(label="load").enqueue(lambda token: kept.append(token.hand_over()))
    network.drain()


@new(f"load@network: {NOT_FINISHED}")
def token_is_in_a_ring_of_objects() -> None:
    def hold(token: inturn.Token) -> None:
        ring: list[object] = [token]
        ring.append(ring)
        kept.append(ring)

    network = inturn.FIFOQueue("network")
    network.options(label="load").enqueue(hold)
    network.submit(int).result()


# What waits for others ------------------------------------------------------------------


@stuck(f"save@database > load@network: {NOT_FINISHED}")
def one_comes_after_a_kept_one() -> None:
    network, database = inturn.FIFOQueue("network"), inturn.FIFOQueue("database")
    load = network.options(label="load").enqueue(kept.append)
    database.options(label="save", after=[load]).submit(int).result()


@stuck("save@database > load@network > @network: it is suspended")
def one_comes_after_one_of_a_suspended_queue() -> None:
    network, database = inturn.FIFOQueue("network"), inturn.OperationQueue("database")
    network.suspend()
    load = network.options(label="load").enqueue(finish)
    database.options(label="save", after=[load]).enqueue(finish).wait()


@stuck(f"copy@albums > write@photos: {NOT_FINISHED}")
def name_is_held_elsewhere() -> None:
    photos, albums = inturn.FIFOQueue("photos"), inturn.FIFOQueue("albums")
    photos.options(label="write", exclusive=["disk"]).enqueue(kept.append)
    started(photos)
    albums.options(label="copy", exclusive=["disk"]).enqueue(finish).wait()


@new(f"copy@albums > write@photos: {IN_CALL}")
def name_is_held_by_a_call() -> None:
    photos, albums = inturn.FIFOQueue("photos"), inturn.OperationQueue("albums")
    photos.options(label="write", exclusive=["disk"]).submit(sleep)
    started(photos)
    albums.options(label="copy", exclusive=["disk"]).submit(int).result()


@stuck(f"read@files: {NOT_FINISHED}")
def barrier_waits_for_one_before_it() -> None:
    files = inturn.OperationQueue("files")
    files.options(label="read").enqueue(kept.append)
    files.options(label="sync", barrier=True).enqueue(finish).wait()


@new(f"load@network: {NOT_FINISHED}")
def joined_operation_is_waited_for() -> None:
    network = inturn.FIFOQueue("network")
    network.options(label="load", key="photo", join=True).enqueue(kept.append)
    network.options(label="again", key="photo", join=True).enqueue(finish).wait()


@stuck('@uploads: it is suspended for "offline"')
def batch_of_a_suspended_queue() -> None:
    uploads = inturn.OperationQueue("uploads")
    uploads.suspend("offline")
    uploads.batch([finish, finish]).wait()


@new(f"part@uploads: {NOT_FINISHED}")
def batch_waits_for_one_part() -> None:
    uploads = inturn.OperationQueue("uploads")
    uploads.options(label="part").batch([kept.append, finish]).wait()


@new("silent: what a batch holds back does not say for which")
def part_of_a_batch_comes_after_another() -> None:
    uploads = inturn.OperationQueue("uploads")
    uploads.options(label="part").batch([kept.append, finish], edges=[(1, 0)])
    sleep()


# What may not start ---------------------------------------------------------------------


@stuck("@uploads: it is suspended")
def nobody_resumes() -> None:
    uploads = inturn.FIFOQueue("uploads")
    uploads.suspend()
    uploads.submit(int).result()


@stuck('@uploads: it is suspended for "offline"')
def resumed_for_another_reason() -> None:
    uploads = inturn.ActorQueue("uploads")
    uploads.suspend("busy")
    uploads.suspend("offline")
    uploads.resume("busy")
    uploads.submit(int).exception()


@stuck("@dialogs: its view has not appeared")
def view_never_appears() -> None:
    dialogs = inturn.InteractionQueue("dialogs")
    dialogs.submit(int)
    beside(dialogs.drain)
    inturn.run_main()


@stuck("@dialogs: its view is hidden")
def view_is_hidden() -> None:
    dialogs = inturn.InteractionQueue("dialogs")
    dialogs.view_did_appear()
    dialogs.view_will_disappear()
    beside(dialogs.submit(int).result)
    inturn.run_main()


@stuck("@paced: its clock, which is advanced by hand, is before its next start")
def manual_clock_stands_still() -> None:
    clock = inturn.ManualClock()
    paced = inturn.FIFOQueue("paced", clock=clock, rate=inturn.Rate(1, 1))
    paced.post(int)
    paced.submit(int).result()


@new("@paced: it starts nothing for another TIME")
def rate_lets_nothing_start() -> None:
    paced = inturn.FIFOQueue("paced", rate=inturn.Rate(1, HOUR))
    paced.post(int)
    paced.submit(int).result()


@new("load@network: its next attempt begins in TIME")
def next_attempt_is_far_away() -> None:
    network = inturn.FIFOQueue("network")
    retry = inturn.Retry(delay=HOUR)
    network.options(label="load", retry=retry).enqueue(fail).wait()


# What may start is not called -----------------------------------------------------------


@stuck("@frames: nobody drains its executor")
def nobody_drains_the_executor() -> None:
    frames = inturn.FIFOQueue("frames", executor=inturn.Executor())
    frames.submit(int).result()


@stuck("@dialogs: the main thread does not drain its executor")
def main_thread_does_not_drain_its_executor() -> None:
    dialogs = inturn.InteractionQueue("dialogs", settle=0)
    dialogs.view_did_appear()
    dialogs.submit(int)
    sleep()


@stuck("refused: DeadlockError")
def main_thread_waits_for_its_own_executor() -> None:
    dialogs = inturn.InteractionQueue("dialogs", settle=0)
    dialogs.view_did_appear()
    dialogs.submit(int).result()


@stuck("@other: who drains its executor is in a call that has not returned")
def executors_thread_is_in_a_call() -> None:
    loop = inturn.Executor()
    frames, other = (inturn.FIFOQueue(label, executor=loop) for label in ("frames", "other"))
    beside(loop.run)
    frames.post(sleep)
    started(frames)
    other.submit(int).result()


@new("@frames: nobody drains its executor")
def stopped_executor_is_not_run_again() -> None:
    loop = inturn.Executor()
    frames = inturn.FIFOQueue("frames", executor=loop)
    loop.stop()
    loop.run()
    frames.submit(int).result()


# Waits ----------------------------------------------------------------------------------


@stuck("refused: DeadlockError")
def queue_is_drained_in_its_own_call() -> None:
    steps = inturn.FIFOQueue("steps")
    steps.submit(steps.drain).result()


@stuck("refused: DeadlockError")
def one_waits_for_one_behind_it() -> None:
    steps = inturn.FIFOQueue("steps")
    steps.submit(lambda: steps.submit(int).result()).result()


@stuck("refused: DeadlockError")
def two_queues_wait_for_each_other() -> None:
    left, right = inturn.FIFOQueue("left"), inturn.FIFOQueue("right")
    left.submit(lambda: right.submit(lambda: left.submit(int).result()).result()).result()


@new("refused: DeadlockError")
def last_place_waits() -> None:
    pages = inturn.OperationQueue("pages", max_concurrent=2)
    both = threading.Barrier(2)

    def nested() -> None:
        both.wait()
        pages.submit(int).result()

    first = pages.submit(nested)
    pages.submit(nested).result()
    first.result()


@new("refused: DeadlockError")
def ring_of_a_name_and_a_wait() -> None:
    photos, albums = inturn.FIFOQueue("photos"), inturn.FIFOQueue("albums")
    copy = albums.options(exclusive=["disk"])
    photos.options(exclusive=["disk"]).submit(lambda: copy.submit(int).result()).result()


@new(f"?@left: {IN_CALL}")
def ring_through_wait_of_concurrent_futures() -> None:
    left, right = inturn.FIFOQueue("left"), inturn.FIFOQueue("right")

    def there() -> None:
        concurrent.futures.wait([right.submit(back)])

    def back() -> None:
        concurrent.futures.wait([left.submit(int)])

    left.submit(there).result()


@new(f"?@left: {IN_CALL}")
def ring_through_a_thread() -> None:
    left = inturn.FIFOQueue("left")

    def there() -> None:
        thread = threading.Thread(target=lambda: left.submit(int).result())
        thread.start()
        thread.join()

    left.submit(there).result()


@new(f"?@network: {IN_CALL}")
def call_waits_for_a_value_that_nobody_sets() -> None:
    network = inturn.FIFOQueue("network")
    ready = inturn.Value(False)
    network.submit(ready.wait_for, bool).result()


@new(f"load@network: {NOT_FINISHED}")
def child_waits_for_what_it_keeps() -> None:
    inturn.FIFOQueue("parents").submit(int).result()
    if os.fork():
        sleep()
    network = inturn.FIFOQueue("network")
    network.options(label="load").enqueue(kept.append)
    network.drain()


@new(f"load@network: {NOT_FINISHED}")
def capacity_is_waited_for() -> None:
    network = inturn.FIFOQueue("network", capacity=1)
    network.options(label="load").enqueue(kept.append)
    started(network)
    network.post(int)
    while True:
        try:
            network.post(int)
        except inturn.FullError:
            network.drain()


# asyncio --------------------------------------------------------------------------------


@stuck(LATER)
@runs
async def coroutine_awaits_for_ever() -> None:
    await inturn.FIFOQueue("network").run(forever)


@stuck(LATER)
@runs
async def turn_of_async_with_is_not_given_back() -> None:
    network = inturn.FIFOQueue("network")
    async with network:
        await forever()


@stuck(f"?@network: {NOT_FINISHED}")
@runs
async def another_waits_for_a_coroutine() -> None:
    network = inturn.FIFOQueue("network")
    kept.append(network.run(forever))
    await network.run(nothing)


@stuck(LATER)
@runs
async def kept_token_is_awaited() -> None:
    network = inturn.FIFOQueue("network")
    await network.options(label="load").enqueue(kept.append)


@stuck(LATER)
@runs
async def drained_is_awaited() -> None:
    network = inturn.FIFOQueue("network")
    network.options(label="load").enqueue(kept.append)
    await network.drained()


@stuck(LATER)
@runs
async def run_of_a_suspended_queue_is_awaited() -> None:
    uploads = inturn.FIFOQueue("uploads")
    uploads.suspend()
    await uploads.run(nothing)


@stuck(LATER)
@runs
async def loop_is_blocked() -> None:
    network = inturn.FIFOQueue("network")
    kept.append(network.run(nothing))
    sleep()


@stuck("refused: DeadlockError")
@runs
async def loop_drains_what_it_has_to_run() -> None:
    network = inturn.FIFOQueue("network")
    kept.append(network.run(forever))
    await asyncio.sleep(0)
    network.drain()


@stuck("refused: DeadlockError")
@runs
async def turn_waits_for_the_next_turn() -> None:
    network = inturn.FIFOQueue("network")
    async with network:
        await network.run(nothing)


@stuck("refused: DeadlockError")
@runs
async def two_turns_wait_for_each_other() -> None:
    left, right = inturn.FIFOQueue("left"), inturn.FIFOQueue("right")
    both = asyncio.Barrier(2)

    async def take(first: inturn.Queue, second: inturn.Queue) -> None:
        async with first:
            await both.wait()
            async with second:
                pass

    await asyncio.gather(take(left, right), take(right, left))


@new(f"?@left: {NOT_FINISHED}")
@runs
async def turn_waits_for_a_task_that_wants_it() -> None:
    left = inturn.FIFOQueue("left")

    async def want() -> None:
        async with left:
            pass

    async with left:
        await asyncio.create_task(want())


@new(f"?@left: {NOT_FINISHED}")
@runs
async def task_group_inside_a_turn() -> None:
    left = inturn.FIFOQueue("left")

    async def want() -> None:
        async with left:
            pass

    async with left, asyncio.TaskGroup() as group:
        group.create_task(want())


@new("refused: DeadlockError")
@runs
async def generator_is_not_closed_in_its_turn() -> None:
    network = inturn.FIFOQueue("network")

    async def pages() -> AsyncIterator[int]:
        async with network:
            yield 1

    generator = pages()
    async for _ in generator:
        break
    await network.run(nothing)


@new(LATER)
@runs
async def thread_of_the_loop_waits_in_a_call() -> None:
    network = inturn.FIFOQueue("network")
    loop = asyncio.get_running_loop()

    def ask() -> None:
        asyncio.run_coroutine_threadsafe(forever(), loop).result()

    await asyncio.wrap_future(network.submit(ask))


@new(LATER)
@runs
async def actor_awaits_another_one_for_ever() -> None:
    room, hall = inturn.ActorQueue("room"), inturn.ActorQueue("hall")

    async def talk() -> None:
        await hall.run(forever)

    await room.run(talk)


@new(f"?@network: {NOT_FINISHED}")
@runs
async def cancelled_coroutine_goes_on() -> None:
    network = inturn.FIFOQueue("network")

    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await forever()

    task = network.run(stubborn)
    await asyncio.sleep(0.01)
    task.cancel()
    await network.run(nothing)


@new(LATER)
def turn_of_trio_is_not_given_back() -> None:
    async def main() -> None:
        network = inturn.FIFOQueue("network")
        async with network:
            await trio.sleep_forever()

    trio.run(main)


@new(f"?@network: {NOT_FINISHED}")
def nursery_waits_for_a_turn() -> None:
    async def main() -> None:
        network = inturn.FIFOQueue("network")

        async def want() -> None:
            async with network:
                pass

        async with network, trio.open_nursery() as nursery:
            nursery.start_soon(want)

    trio.run(main)


@new(f"?@network: {NOT_FINISHED}")
def anyio_task_waits_for_a_turn() -> None:
    async def main() -> None:
        network = inturn.FIFOQueue("network")

        async def want() -> None:
            async with network:
                pass

        async with network, anyio.create_task_group() as group:
            group.start_soon(want)

    anyio.run(main)


def main() -> None:
    for name, (expected, is_new, scenario) in scenarios.items():
        if sys.argv[1] == "--list":
            print(name, expected, *(["new"] * is_new), sep="\t")
        elif sys.argv[1] == name:
            print("ready", flush=True)
            scenario()


if __name__ == "__main__":
    main()
