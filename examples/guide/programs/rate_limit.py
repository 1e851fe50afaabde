"""A web API that allows 20 requests a second."""

import asyncio
import time

import inturn


async def request(page: int) -> int:
    await asyncio.sleep(0.01)  # stands for the request
    return page


async def main() -> None:
    begin = time.monotonic()
    rate = inturn.Rate(max_starts=20, interval=1, burst=1)
    with inturn.OperationQueue("api", max_concurrent=4, rate=rate) as api:
        pages = await asyncio.gather(*(api.run(request, page) for page in range(7)))
    seconds = time.monotonic() - begin
    print(f"pages {pages}")
    # The first starts at once, and each other one 0.05 seconds after the one before.
    print("not faster than the limit:", "yes" if seconds >= 0.3 else f"no, {seconds:.3f} s")


asyncio.run(main())
