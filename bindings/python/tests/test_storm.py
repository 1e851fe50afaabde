"""Cancels, closed loops, forks and collections at random moments: nothing is lost.

``INTURN_STORM_SECONDS`` sets the duration, ``INTURN_STORM_SEED`` the seed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import random
import threading
from collections.abc import Callable
from typing import Any

import inturn
from inturn import _asyncio_home, _callbacks
from support import LIMIT, join, until

SECONDS = float(os.environ.get("INTURN_STORM_SECONDS", "3"))
SEED = int(os.environ.get("INTURN_STORM_SEED", str(random.randrange(2**32))))


class Storm:
    """The queues, what was enqueued, and what became of it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.fifo = inturn.FIFOQueue()
        self.some = inturn.OperationQueue(max_concurrent=2)
        self.queues: list[Any] = [self.fifo, self.some]
        self.accepted = dict.fromkeys(self.queues, 0)
        self.inside = dict.fromkeys(self.queues, 0)
        self.begun: dict[int, int] = {}
        self.last = 0  # the last to begin in the FIFO queue
        self.numbers = iter(range(1, 2**62))
        self.lock = threading.RLock()  # protects the above; a coroutine may be destroyed in between

    def new(self, queue: Any) -> int:
        self.accepted[queue] += 1
        return next(self.numbers)

    def enter(self, queue: Any, number: int) -> None:
        with self.lock:
            self.begun[number] = self.begun.get(number, 0) + 1
            self.inside[queue] += 1
            assert self.begun[number] == 1, "begun twice"
            assert self.inside[queue] <= queue._places, "too many at a time"
            if queue is self.fifo:
                assert number > self.last, "out of order"
                self.last = number

    def leave(self, queue: Any) -> None:
        with self.lock:
            self.inside[queue] -= 1

    # Actions ---------------------------------------------------------------------------------

    async def work(self, queue: Any, number: int, pauses: int) -> int:
        self.enter(queue, number)
        try:
            for _ in range(pauses):
                await asyncio.sleep(0)
        finally:
            self.leave(queue)
        return number

    async def block(self, queue: Any, pauses: int) -> None:
        async with queue:
            with self.lock:
                self.inside[queue] += 1
                assert self.inside[queue] <= queue._places, "too many at a time"
            try:
                for _ in range(pauses):
                    await asyncio.sleep(0)
            finally:
                self.leave(queue)

    def call(self, queue: Any, number: int) -> int:
        self.enter(queue, number)
        self.leave(queue)
        return number

    async def tasks(self) -> None:
        tasks: list[asyncio.Future[Any]] = []
        for _ in range(self.random.randrange(1, 30)):
            queue = self.random.choice(self.queues)
            what, pauses = self.random.randrange(4), self.random.randrange(4)
            with self.lock:
                if what == 0:
                    self.accepted[queue] += 1
                    tasks.append(asyncio.ensure_future(self.block(queue, pauses)))
                elif what == 1:
                    number = self.new(queue)
                    future = queue.submit(self.call, queue, number)
                    tasks.append(asyncio.wrap_future(future))
                else:
                    number = self.new(queue)
                    tasks.append(queue.run(self.work, queue, number, pauses))
            if what == 0:
                await asyncio.sleep(0)  # enqueues it
            if self.random.random() < 0.3:
                self.random.choice(tasks).cancel()
            if self.random.random() < 0.2:
                await asyncio.sleep(0)
            if self.random.random() < 0.02:
                gc.collect()
        if self.random.random() < 0.7:
            await asyncio.gather(*tasks, return_exceptions=True)

    def loop(self) -> None:
        if self.random.random() < 0.5:
            asyncio.run(self.tasks())
            return
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)  # silences destroyed tasks
        loop.run_until_complete(self.tasks())
        loop.close()

    def functions(self) -> None:
        futures = []
        for _ in range(self.random.randrange(1, 30)):
            queue = self.random.choice(self.queues)
            with self.lock:
                number = self.new(queue)
                futures.append((number, queue.submit(self.call, queue, number)))
            if self.random.random() < 0.2:
                self.random.choice(futures)[1].cancel()
        done = concurrent.futures.wait([future for _, future in futures], LIMIT)
        assert not done.not_done
        for number, future in futures:
            assert future.cancelled() or future.result(0) == number

    def collect(self) -> None:
        gc.collect()

    def fork(self) -> None:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with inturn.FIFOQueue() as queue:
                    status = queue.submit(int).result(LIMIT)
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0, "a child found no working library"


def test_nothing_is_lost_in_a_storm() -> None:
    gc.collect()
    entries = len(_callbacks.entries)
    storm = Storm(SEED)
    wrong: list[BaseException] = []
    over = threading.Event()

    def elsewhere(actions: list[Callable[[], None]]) -> None:
        try:
            while not over.is_set():
                storm.random.choice(actions)()
        except BaseException as error:
            wrong.append(error)

    threads = [
        threading.Thread(target=elsewhere, args=([storm.functions],)),
        threading.Thread(target=elsewhere, args=([storm.loop, storm.loop, storm.functions],)),
    ]
    for thread in threads:
        thread.start()
    timer = threading.Timer(SECONDS, over.set)
    timer.start()
    elsewhere([storm.loop, storm.loop, storm.fork, storm.collect])
    over.set()
    join(timer, *threads)
    assert not wrong, f"seed {SEED}: {wrong[0]!r}"
    gc.collect()
    for queue in storm.queues:
        queue.drain(LIMIT)
        told = queue.statistics()
        ended = told.finished + told.failed + told.cancelled
        assert (told.pending, told.running) == (0, 0), f"seed {SEED}: {told}"
        assert ended == storm.accepted[queue], f"seed {SEED}: {told}, {storm.accepted[queue]}"
        assert storm.inside[queue] == 0, f"seed {SEED}"
        queue.destroy()
    until("the entries to go", lambda: len(_callbacks.entries) <= entries)
    assert not _asyncio_home._homes, f"seed {SEED}"
