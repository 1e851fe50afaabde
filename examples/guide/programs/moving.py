"""The same work as it was before, and with a queue."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import inturn

log: list[str] = []


def note(text: str) -> str:
    log.append(text)
    return text


async def slowly(text: str) -> str:
    await asyncio.sleep(0.01 / len(text))  # longer text is faster
    return note(text)


def executor_before() -> None:
    with ThreadPoolExecutor(max_workers=1) as executor:
        future = executor.submit(note, "a")
        executor.submit(note, "b")
        assert future.result() == "a"


def executor_after() -> None:
    with inturn.FIFOQueue("notes") as queue:
        future = queue.submit(note, "a")
        queue.submit(note, "b")
        assert future.result() == "a"


async def lock_before() -> None:
    lock = asyncio.Lock()

    async def in_turn(text: str) -> str:
        async with lock:
            return await slowly(text)

    await asyncio.gather(*(in_turn(text) for text in ("a", "bb", "ccc")))


async def lock_after() -> None:
    with inturn.FIFOQueue("notes") as queue:
        await asyncio.gather(*(queue.run(slowly, text) for text in ("a", "bb", "ccc")))


async def semaphore_before() -> None:
    semaphore = asyncio.Semaphore(2)

    async def limited(text: str) -> str:
        async with semaphore:
            return await slowly(text)

    await asyncio.gather(*(limited(text) for text in ("a", "bb", "ccc")))


async def semaphore_after() -> None:
    with inturn.OperationQueue("notes", max_concurrent=2) as queue:
        await asyncio.gather(*(queue.run(slowly, text) for text in ("a", "bb", "ccc")))


def callbacks_before() -> None:
    waiting = ["a", "bb", "ccc"]
    done = threading.Event()

    def start_next() -> None:
        if not waiting:
            done.set()
            return
        text = waiting.pop(0)
        threading.Timer(0.01 / len(text), ended, (text,)).start()

    def ended(text: str) -> None:
        note(text)
        start_next()

    start_next()
    done.wait()


def callbacks_after() -> None:
    def start(text: str) -> inturn.Work:
        def work(token: inturn.Token) -> None:
            threading.Timer(0.01 / len(text), lambda: token.finish(note(text))).start()

        return work

    with inturn.FIFOQueue("notes") as queue:
        for text in ("a", "bb", "ccc"):
            queue.enqueue(start(text))


def told() -> str:
    text = " ".join(log)
    log.clear()
    return text


executor_before()
print("an executor:", told())
executor_after()
print("  a queue:  ", told())
asyncio.run(lock_before())
print("a lock:     ", told())
asyncio.run(lock_after())
print("  a queue:  ", told())
asyncio.run(semaphore_before())
print("a semaphore:", sorted(told().split()))
asyncio.run(semaphore_after())
print("  a queue:  ", sorted(told().split()))
callbacks_before()
print("callbacks:  ", told())
callbacks_after()
print("  a queue:  ", told())
