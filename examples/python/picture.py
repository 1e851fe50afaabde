"""The events of a queue, drawn as they come.

The upper lines of the terminal are the picture's.  The others scroll as usual.
"""

from __future__ import annotations

import atexit
import locale
import os
import signal
import sys
import threading
from dataclasses import dataclass

import inturn

LINES, COLUMNS, INTERVAL = 7, 36, 0.05  # of the screen; of a bar; in seconds
DIM, CYAN, GREEN, YELLOW, NONE = "\033[2m", "\033[1;36m", "\033[32m", "\033[33m", "\033[0m"


@dataclass
class Row:
    """An operation; times are in nanoseconds, 0 for not yet."""

    label: str
    asked: int
    begun: int = 0
    ended: int = 0
    outcome: str = ""


class Picture:
    """Draws if the standard output is a terminal that is large enough."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects the rows
        self._rows: dict[int, Row] = {}
        self._closing = threading.Event()
        self._lines = 0  # of the terminal; 0 if nothing is drawn
        self._has_colours = not os.environ.get("NO_COLOR")
        self._marks = "·█" if locale.nl_langinfo(locale.CODESET) == "UTF-8" else ".#"
        if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            columns, lines = os.get_terminal_size(1)
            self._lines = lines if columns >= 72 and lines >= 16 else 0
        if self._lines:
            # Makes the old content scroll back, clears the screen, and lets the lower lines scroll.
            self._write("\n" * self._lines + "\033[2J" + self._limits() + f"\033[{LINES + 1};1H")
            atexit.register(self._join)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self._leave)
            self._thread = threading.Thread(target=self._draw_all, name="picture")
            self._thread.start()

    def on_event(self, event: inturn.Event) -> None:
        """Passed to the queue as ``on_event``."""
        with self._lock:
            if event.kind is inturn.EventKind.ENQUEUED:
                self._rows[event.operation] = Row(event.label or "", event.at_ns)
            elif event.kind is inturn.EventKind.STARTED:
                self._rows[event.operation].begun = event.at_ns
            elif event.kind is inturn.EventKind.ENDED and event.outcome:
                row = self._rows[event.operation]
                row.ended, row.outcome = event.at_ns, event.outcome.name.lower().replace("_", " ")

    def close(self) -> None:
        """Removes the picture, and prints what it has shown."""
        self._closing.set()
        if self._lines:
            self._thread.join()
            self._join()
            print("\nWhen they waited, and were shown:", *self._texts(), sep="\n")

    def _texts(self) -> list[str]:
        with self._lock:
            now = round(inturn.now() * 1e9)
            return [self._text(row, now) for row in self._rows.values()]

    def _text(self, row: Row, now: int) -> str:
        start = min(each.asked for each in self._rows.values())
        end = row.ended or now
        times = (row.asked, row.begun or end, end)
        left, shown, right = (COLUMNS * (time - start) // max(now - start, 1) for time in times)
        if row.begun:  # even the shortest is visible
            shown = min(shown, COLUMNS - 1)
            right = max(right, shown + 1)
        ended = GREEN if row.outcome == "finished" else YELLOW
        colour = ended if row.ended else CYAN if row.begun else DIM
        waited, was_shown = self._marks[0] * (shown - left), self._marks[1] * (right - shown)
        bar = " " * left + self._in(DIM, waited) + self._in(colour, was_shown)
        state = self._in(colour, row.outcome or ("shown" if row.begun else "waiting"))
        return f"  {row.label:<16}{bar}{' ' * (COLUMNS - right)}  {state}"

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{NONE}" if self._has_colours else text

    def _draw_all(self) -> None:
        while not self._closing.wait(INTERVAL):
            before, lines = self._lines, os.get_terminal_size(1).lines
            self._lines = lines if lines > LINES + 1 else before
            texts = ["  " + self._in(CYAN, "The queue"), "", *self._texts()]
            drawn = "".join(f"\033[{at};1H\033[K{text}" for at, text in enumerate(texts, 1))
            limits = self._limits() if self._lines != before else ""
            self._write(f"\0337{limits}{drawn}\0338")  # the cursor stays where it is

    def _limits(self) -> str:
        return f"\033[{LINES + 1};{self._lines}r"

    def _join(self) -> None:
        atexit.unregister(self._join)
        self._write(f"\0337\033[r\033[1;1H\033[{LINES}M\0338\033[{LINES}A")

    def _leave(self, number: int, _frame: object) -> None:
        self._join()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _write(self, text: str) -> None:
        os.write(1, text.encode())  # at once, so that it comes between what others print
