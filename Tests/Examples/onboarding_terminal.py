"""Uses onboarding as a user does at a terminal, and looks at the screen.

    onboarding_terminal.py PROGRAM...

The terminal is a real one, a pseudo-terminal; what a user would see is pyte's.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import xml.etree.ElementTree
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[2]
LIMIT = 30.0  # Seconds for anything to be seen; far more than it takes.
LABELS = ("location", "camera", "sign-in", "service notice")
LOCATION = "May the app use your location? [y/n] "
PASSWORD = 'Your password (here it is "inturn"): '


class Terminal:
    """The program at a terminal of so many lines."""

    def __init__(self, program: list[str], lines: int = 24, **environment: str) -> None:
        self.screen = pyte.Screen(80, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.folder = tempfile.TemporaryDirectory()
        self._terminal, its_end = pty.openpty()
        fcntl.ioctl(its_end, termios.TIOCSWINSZ, struct.pack("4H", lines, 80, 0, 0))
        kept = ("PATH", "INTURN_LIBRARY")
        clean = {name: os.environ[name] for name in kept if name in os.environ}
        self.program = subprocess.Popen(
            program,
            stdin=its_end,
            stdout=its_end,
            stderr=its_end,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env=clean
            | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TMPDIR": self.folder.name}
            | environment,
        )
        os.close(its_end)

    def resize(self, lines: int) -> None:
        """As a user does who pulls at the window's edge."""
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("4H", lines, 80, 0, 0))
        self.screen.resize(lines, 80)

    def _read(self) -> bool:
        """Takes what has been written; whether more may come."""
        if not select.select([self._terminal], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # Linux says so when the other end is closed.
            return False
        self.written += data
        self._stream.feed(data)
        return bool(data)

    def line(self, number: int) -> str:
        return str(self.screen.display[number]).rstrip()

    @property
    def prompt(self) -> str:
        """The line that the cursor is in, up to the cursor."""
        return str(self.screen.display[self.screen.cursor.y])[: self.screen.cursor.x]

    def states(self) -> list[str]:
        """Those of the picture."""
        rows = [self.line(2 + index) for index in range(len(LABELS))]
        for label, row in zip(LABELS, rows):
            check(row.strip().startswith(label), f"{row!r} is {label}'s", self)
        return [row.split()[-1] for row in rows]

    def scrolls(self, first: int, last: int) -> bool:
        """Whether these lines scroll, and no others."""
        return bool(self.screen.margins == (first, last))

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + LIMIT
        while not is_so():
            check(time.monotonic() < end and self._read(), what, self)

    def answer(self, prompt: str, text: str) -> None:
        self.wait(f"it asks {prompt!r}", lambda: self.prompt.endswith(prompt))
        os.write(self._terminal, text.encode())

    def end(self) -> int:
        while self._read():
            pass
        os.close(self._terminal)
        return self.program.wait(LIMIT)


def check(holds: bool, what: str, terminal: Terminal) -> None:
    if not holds:
        print("\n".join(f"|{line}|" for line in terminal.screen.display))
        raise AssertionError(f"not seen: {what}")


def colour_of(terminal: Terminal, line: int, word: str) -> str:
    column = terminal.line(line).index(word)
    return str(terminal.screen.buffer[line][column].fg)


def test_the_queue_is_seen_while_it_is_worked_through(program: list[str]) -> None:
    terminal = Terminal(program)
    terminal.wait("the first question", lambda: terminal.prompt.endswith(LOCATION))
    waits = ["waiting"] * 3
    terminal.wait("the first is shown", lambda: terminal.states() == ["shown", *waits])
    check(terminal.line(0).strip() == "The queue", "a title", terminal)
    check(colour_of(terminal, 2, "shown") == "cyan", "colours", terminal)
    bar = terminal.line(3)
    terminal.wait("bars that grow", lambda: terminal.line(3) != bar or "·····" in bar)
    check(terminal.prompt.endswith(LOCATION), "the cursor behind the question", terminal)
    terminal.answer(LOCATION, "n\n")
    terminal.answer(PASSWORD, "wrong\n")
    terminal.answer(PASSWORD, "")
    ended = ["failed", "finished", "shown", "waiting"]
    terminal.wait("two have ended", lambda: terminal.states() == ended)
    check(colour_of(terminal, 3, "finished") == "green", "a colour for the good end", terminal)
    shown = terminal.screen
    terminal.wait("its text", lambda: "That is not it; 2 left." in "\n".join(shown.display))
    terminal.answer(PASSWORD, "inturn\n")
    terminal.answer("[Return] ", "\n")
    check(terminal.end() == 0, "a good end", terminal)
    check(terminal.screen.margins is None, "that all of the screen scrolls again", terminal)
    last = (
        "\n".join(terminal.screen.display)
        .split("When they waited, and were shown:")[1]
        .splitlines()
    )
    for label, line in zip(LABELS, last[1:]):
        check(line.strip().startswith(label) and "█" in line, f"{label}'s timeline", terminal)
    if not any("As a picture" in line for line in last):
        return  # in Python it leaves none
    path = Path(last[6].split("As a picture: ")[1].strip() + last[7].strip())
    names = [element.text for element in xml.etree.ElementTree.parse(path).iter()]
    check(set(LABELS) | {"failed", "finished"} <= set(names), f"them in {names}", terminal)


def test_a_window_that_is_resized_has_the_picture_above_what_scrolls(program: list[str]) -> None:
    terminal = Terminal(program)
    terminal.wait("the first question", lambda: terminal.prompt.endswith(LOCATION))
    for lines in (32, 20):
        terminal.resize(lines)
        terminal.wait(f"what scrolls in {lines} lines", partial(terminal.scrolls, 7, lines - 1))
        terminal.wait("the picture", lambda: terminal.line(2).endswith("shown"))
    terminal.answer(LOCATION, "\x04")
    check(terminal.end() == 0, "a good end", terminal)
    check(terminal.screen.margins is None, "that all of the screen scrolls again", terminal)


def test_without_colours_there_are_none(program: list[str]) -> None:
    terminal = Terminal(program, NO_COLOR="1", LC_ALL="C")
    terminal.wait("it is shown", lambda: terminal.line(2).endswith("shown"))
    check(colour_of(terminal, 2, "shown") == "default", "no colour", terminal)
    terminal.answer(LOCATION, "\x04")
    check(terminal.end() == 0, "a good end", terminal)
    check(re.search(rb"\x1b\[[0-9;]*m", terminal.written) is None, "no colours", terminal)
    check(terminal.written.isascii(), "ASCII", terminal)
    ended = [terminal.screen.display[line] for line in range(24)]
    check(sum("cancelled" in line for line in ended) >= 2, "how they ended", terminal)


def test_a_dumb_or_small_terminal_has_text_alone(program: list[str]) -> None:
    expected = (ROOT / "examples/expected/onboarding/all.out").read_bytes()
    for lines, name in ((24, "dumb"), (10, "xterm")):
        terminal = Terminal(program, lines=lines, TERM=name)
        terminal.answer(LOCATION, "y\n")
        terminal.answer(PASSWORD, "inturn\n")
        terminal.answer("[Return] ", "\n")
        check(terminal.end() == 0, "a good end", terminal)
        check(terminal.written.replace(b"\r\n", b"\n") == expected, "what a pipe gets", terminal)


def test_control_c_gives_the_screen_back(program: list[str]) -> None:
    terminal = Terminal(program)
    terminal.answer(LOCATION, "\x03")
    check(terminal.end() == -signal.SIGINT, "the signal", terminal)
    check(terminal.screen.margins is None, "that all of the screen scrolls again", terminal)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test(arguments.program)
            print(f"ok {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
