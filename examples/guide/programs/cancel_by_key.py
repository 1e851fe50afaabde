"""Thumbnails for two albums; the user closes one of them."""

import threading

import inturn

first_started, closed = threading.Event(), threading.Event()


def make(album: str, photo: int) -> None:
    first_started.set()
    closed.wait(10)  # the first takes so long that the user loses interest
    print(f"made {album} {photo}")


with inturn.FIFOQueue("thumbnails") as queue:
    for album in ("paris", "rome"):
        for photo in (1, 2, 3):
            queue.options(key=album).submit(make, album, photo)
    first_started.wait(10)
    print(f"cancelled {queue.cancel('rome')} of rome")
    closed.set()
