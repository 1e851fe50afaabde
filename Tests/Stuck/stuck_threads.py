"""Programs that are stuck in threads."""

from __future__ import annotations

import concurrent.futures
import os
import threading
import time

import inturn
from stuck_fixture import (
    CALLBACK,
    HOUR,
    IN_CALL,
    NOT_FINISHED,
    beside,
    fail,
    finish,
    kept,
    new,
    sleep,
    started,
    stuck,
)

# Running work does not end --------------------------------------------------------------


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
    "late@uploads: it was cut off, and keeps its place until its token is finished",
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


# Dependencies ---------------------------------------------------------------------------


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


@new(f"part@uploads > part@uploads: {NOT_FINISHED}")
def part_of_a_batch_comes_after_another() -> None:
    uploads = inturn.OperationQueue("uploads")
    uploads.options(label="part").batch([kept.append, finish], edges=[(1, 0)])
    sleep()


# Pending work may not start -------------------------------------------------------------


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


@stuck("@paced: its manual clock has not reached its next start")
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


# Work that may start is not called ------------------------------------------------------


@stuck("@frames: nobody is draining its executor")
def nobody_drains_the_executor() -> None:
    frames = inturn.FIFOQueue("frames", executor=inturn.Executor())
    frames.submit(int).result()


@stuck("@dialogs: the main thread is not draining its executor")
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


@new("@frames: nobody is draining its executor")
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
