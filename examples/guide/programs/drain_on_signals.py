"""Ctrl-C or SIGTERM: accepts nothing new, finishes what was accepted, and exits."""

import asyncio
import signal

import inturn


async def handle(order: int) -> None:
    await asyncio.sleep(0.05)  # stands for the work
    print(f"order {order} is done")


async def main() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    queue = inturn.FIFOQueue("orders")
    orders = [queue.run(handle, order) for order in (1, 2, 3)]
    print("working; Ctrl-C ends it", flush=True)
    await stop.wait()

    queue.close()  # a new order is refused from now on
    try:
        await asyncio.wait_for(queue.drained(), timeout=5)
        print("all is done")
    except asyncio.TimeoutError:
        queue.cancel_all()  # those that hang are cancelled
    await asyncio.gather(*orders, return_exceptions=True)


asyncio.run(main())
