"""Shows how far a queue has come: a bar on a terminal, a line for each step in a pipe."""

import sys
import time

import inturn


def show(change: inturn.Change) -> None:
    done, total = change.new
    if sys.stdout.isatty():
        bar = "#" * done + "." * (total - done)
        print(f"\r[{bar}]", end="" if done < total else "\n", flush=True)
    elif done:
        print(f"{done} of {total}")


def convert(photo: int) -> None:
    time.sleep(0.02)  # stands for the work


queue = inturn.OperationQueue("photos", max_concurrent=1)
queue.suspend()  # until all are added, so that the total is known
for photo in range(5):
    queue.post(convert, photo)
watching = queue.states.progress.observe(show)
queue.resume()
queue.drain()
watching.cancel()
queue.destroy()
