"""The tutorial's uploader, step by step."""

import asyncio
import threading
from collections.abc import Callable

import inturn


def start_upload(photo: str, when_done: Callable[[bool], None]) -> None:
    """Stands for a library: it uploads in the background, and calls back on its own thread."""
    seconds = {"beach.jpg": 0.03, "city.jpg": 0.01}.get(photo, 0.02)
    threading.Timer(seconds, when_done, [photo != "broken.jpg"]).start()


def upload(photo: str) -> inturn.Work:
    def work(token: inturn.Token) -> None:
        def done(arrived: bool) -> None:
            if arrived:
                print("arrived:", photo)
                token.finish(photo)
            else:
                token.fail(OSError(f"{photo} did not arrive"))

        print("starting:", photo)
        start_upload(photo, done)

    return work


def in_order() -> None:
    with inturn.FIFOQueue("uploads") as queue:
        for photo in ("beach.jpg", "city.jpg"):
            queue.enqueue(upload(photo))


def told_of_the_end() -> None:
    def on_end(end: inturn.End) -> None:
        print("ended:", end.label, end.outcome.name, end.exception or end.result)

    with inturn.FIFOQueue("uploads") as queue:
        for photo in ("broken.jpg", "city.jpg"):
            queue.options(label=photo, on_end=on_end).enqueue(upload(photo))


def with_limits() -> None:
    attempts = 0

    def unreliable(token: inturn.Token) -> None:
        nonlocal attempts
        attempts += 1
        print("attempt", attempts)
        if attempts < 3:
            token.fail(OSError("the connection was lost"))
        else:
            token.finish()

    with inturn.FIFOQueue("uploads") as queue:
        patient = queue.options(retry=inturn.Retry(attempts=5, delay=0.01), max_run=10)
        operation = patient.enqueue(unreliable)
        print("ended:", operation.wait().outcome.name)


def cancelled() -> None:
    queue = inturn.FIFOQueue("uploads")
    queue.suspend()  # so that nothing starts yet
    first = queue.enqueue(upload("beach.jpg"))
    second = queue.enqueue(upload("city.jpg"))
    first.cancel()
    queue.resume()
    queue.close()
    queue.drain(timeout=10)
    print("beach.jpg:", first.wait().outcome.name)
    print("city.jpg:", second.wait().outcome.name)
    queue.destroy()


async def save(text: str) -> int:
    await asyncio.sleep(0.01)  # stands for the disk
    print("saved:", text)
    return len(text)


async def coroutines() -> None:
    with inturn.FIFOQueue("saves") as queue:
        first = queue.run(save, "a draft")  # it has its place now
        print("characters:", await queue.run(save, "the text"))
        await first


in_order()
told_of_the_end()
with_limits()
cancelled()
asyncio.run(coroutines())
