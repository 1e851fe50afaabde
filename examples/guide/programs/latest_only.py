"""Live search: each letter cancels the searches before it."""

import asyncio

import inturn


class Search:
    def __init__(self) -> None:
        self.queue = inturn.FIFOQueue("search")
        self.latest = self.queue.options(key="search")

    def start(self, text: str) -> asyncio.Task[str]:
        self.queue.cancel("search")  # the running and the pending ones
        search: asyncio.Task[str] = self.latest.run(self.find, text)
        return search

    async def find(self, text: str) -> str:
        await asyncio.sleep(0.05)  # stands for the server
        return f"results for {text!r}"


async def main() -> None:
    search = Search()
    searches = [search.start(text) for text in ("s", "sw", "swi", "swift")]
    for result in await asyncio.gather(*searches, return_exceptions=True):
        print("cancelled" if isinstance(result, asyncio.CancelledError) else result)
    search.queue.destroy()


asyncio.run(main())
