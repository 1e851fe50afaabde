"""Fetches twelve pages, at most three at a time."""

import asyncio

import inturn

running = most = 0


async def fetch(page: int) -> str:
    global running, most
    running += 1
    most = max(most, running)
    await asyncio.sleep(0.02)  # stands for the request
    running -= 1
    return f"page {page}"


async def main() -> None:
    with inturn.OperationQueue("fetches", max_concurrent=3) as queue:
        pages = await asyncio.gather(*(queue.run(fetch, number) for number in range(12)))
    print(f"{len(pages)} pages fetched")
    print(f"never more than {most} at a time")


asyncio.run(main())
