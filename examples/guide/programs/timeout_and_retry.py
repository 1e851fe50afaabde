"""Asks a server that fails once and does not answer once."""

import asyncio

import inturn

calls = 0


async def ask() -> str:
    global calls
    calls += 1
    print(f"attempt {calls}")
    if calls == 1:
        raise ConnectionError("the server is restarting")
    if calls == 2:
        await asyncio.sleep(60)  # no answer
    return "the answer"


async def main() -> None:
    with inturn.FIFOQueue("questions") as queue:
        patient = queue.options(
            max_run=0.1,  # seconds, for each attempt
            retry=inturn.Retry(attempts=3, delay=0.05, factor=2),
        )
        try:
            print(await patient.run(ask))
        except inturn.TimedOutError:
            print("no answer in time")
        except ConnectionError as error:
            print(error)


asyncio.run(main())
