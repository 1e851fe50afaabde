"""Work on an event loop of your own: here it is one of selectors."""

import selectors
import threading

import inturn

to_come = 3


def work(name: str) -> None:
    global to_come
    on_loop = threading.current_thread() is threading.main_thread()
    print(f"{name}, on the loop's thread: {'yes' if on_loop else 'no'}")
    to_come -= 1


def produce() -> None:
    for name in ("first", "second", "third"):
        queue.post(work, name)  # any thread may enqueue; the loop wakes up


executor = inturn.Executor("loop")
queue = inturn.FIFOQueue("work", executor=executor)
producer = threading.Thread(target=produce)
producer.start()
with selectors.DefaultSelector() as selector:
    selector.register(executor, selectors.EVENT_READ)
    while to_come:
        selector.select()  # with everything else that the loop watches
        executor.drain(16)  # at most 16 calls a turn
producer.join()
queue.destroy()
executor.close()
