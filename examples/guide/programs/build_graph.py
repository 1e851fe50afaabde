"""A build: two files are compiled side by side, then linked, then tested."""

import threading
import time

import inturn

both = threading.Barrier(2)  # passes only if both are being compiled at once


def compiles(file: str) -> inturn.Work:
    def work(token: inturn.Token) -> None:
        with token:
            both.wait(10)
            time.sleep(0.01)

    return work


def step(name: str) -> inturn.Work:
    def work(token: inturn.Token) -> None:
        with token:  # finishes it, or fails it with what the block raises
            print(name)

    return work


with inturn.OperationQueue("build", max_concurrent=4) as build:
    batch = build.options(after_policy=True).batch(
        [compiles("a.c"), compiles("b.c"), step("link"), step("test")],
        edges=[(2, 0), (2, 1), (3, 2)],  # link after both, test after link
        policy=inturn.BatchPolicy.FIRST_ERROR,
    )
    end = batch.wait()
print(f"{end.outcome.name.lower()}, {end.finished} of {len(end.ends)}")
