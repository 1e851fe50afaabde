"""What a user does with a program: looks at windows and terminals, presses keys, clicks.

Windows are found by their titles; keys and clicks are real input events, made by xdotool.
"""

from __future__ import annotations

import os
import pty
import queue
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "examples/guide/howto/pictures"

# Seconds; far more than anything here takes.
LIMIT = 30.0

# How different two pictures of the same may be, of 1: a cursor blinks, fonts are not the same
# everywhere.
ALIKE = 0.03

# How far below the first-run window's upper edge a dialog is on a picture, in pixels.
BESIDE = 335

DIALOGS = {
    "location": "Use your location?",
    "camera": "Use the camera?",
    "sign-in": "Sign in",
    "urgent notice": "Battery low",
    "service notice": "The service is down",
}


class Failure(Exception):
    """A test has failed."""


def xdotool(*arguments: str) -> str:
    """Calls xdotool; no window is no error."""
    result = subprocess.run(
        ["xdotool", *arguments], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    return result.stdout.strip()


def until(what: str, condition: Callable[[], bool]) -> None:
    """Asks again and again: a display tells nobody when it is done."""
    limit = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > limit:
            raise Failure(f"waited {LIMIT} s for {what}")
        time.sleep(0.02)


def active_title() -> str:
    """The title of the window that gets the keys."""
    return xdotool("getactivewindow", "getwindowname")


def visible(title: str) -> list[str]:
    """The windows on screen with this title."""
    pattern = "^" + title.replace("?", r"\?") + "$"
    return xdotool("search", "--onlyvisible", "--name", pattern).split()


def dialogs_on_screen() -> list[str]:
    return [label for label, title in DIALOGS.items() for _ in visible(title)]


class Watcher:
    """Sees, again and again, how many dialogs are on screen.

    It asks for the window manager's list of windows, which is one property: what it holds is there
    at the same time.
    """

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.most: list[str] = []
        self._titles: dict[str, str] = {}  # by window; one that has gone had its title before
        self._lock = threading.Lock()  # protects the three above
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self.look()

    def look(self) -> None:
        with self._lock:
            found = [title for title in map(self._title, windows()) if title in DIALOGS.values()]
            self.seen.update(found)
            if len(found) > len(self.most):
                self.most = found

    def _title(self, window: str) -> str:
        if not self._titles.get(window):
            self._titles[window] = xdotool("getwindowname", window)
        return self._titles[window]

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def check(self) -> None:
        """Fails when there was none, or more than one at a time."""
        with self._lock:
            if len(self.most) > 1:
                raise Failure(f"on screen at once: {', '.join(self.most)}")
            if not self.seen:
                raise Failure("no dialog was seen")


def xprop(of: list[str], name: str, mark: str) -> list[str]:
    """The parts of a property, which come after this mark; none when it is not set."""
    result = subprocess.run(
        ["xprop", *of, "-notype", name], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    _, _, parts = result.stdout.partition(mark)
    return [part.strip() for part in parts.split(",") if part.strip()]


def windows() -> list[str]:
    """The windows that are managed now, as numbers."""
    return xprop(["-root"], "_NET_CLIENT_LIST", "#")


class Area(NamedTuple):
    """A part of the screen, in pixels."""

    left: int
    top: int
    right: int
    bottom: int


def geometry(window: str) -> Area:
    """Where a window is, without its frame."""
    text = subprocess.run(
        ["xwininfo", "-id", window], capture_output=True, text=True, timeout=LIMIT, check=False
    ).stdout
    names = ("Absolute upper-left X", "Absolute upper-left Y", "Width", "Height")
    x, y, width, height = (int(re.findall(rf"{name}: +(-?\d+)", text)[0]) for name in names)
    return Area(x, y, x + width, y + height)


def frame(window: str) -> Area:
    """The same with its frame, if the window manager has given it one."""
    at = geometry(window)
    widths = xprop(["-id", window], "_NET_FRAME_EXTENTS", "=")
    left, right, above, below = map(int, widths or (0, 0, 0, 0))
    return Area(at.left - left, at.top - above, at.right + right, at.bottom + below)


class Program:
    """A program with windows, and what it has printed."""

    def __init__(self, command: list[str], shots: Path, watcher: Watcher) -> None:
        self.shots = shots  # KIND/TEST
        self.kind = shots.parent.name
        self.watcher = watcher
        self.printed = ""
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._errors: list[str] = []
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._hear)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _hear(self) -> None:
        assert self._process.stderr is not None
        self._errors.extend(self._process.stderr)

    def expect(self, line: str) -> None:
        """Waits for this line; lines before it are allowed."""
        while True:
            try:
                printed = self._lines.get(timeout=LIMIT)
            except queue.Empty:
                raise Failure(f"waited {LIMIT} s for '{line}' after\n{self.printed}") from None
            if printed is None:
                raise Failure(f"ended without '{line}' after\n{self.printed}")
            self.printed += printed
            if printed.rstrip("\n") == line:
                return

    def dialog(self, label: str, *keys: str) -> None:
        """Waits for a dialog, takes its picture, and presses keys there."""
        self.expect(f"presented {label}")
        self.window(DIALOGS[label], label.replace(" ", "-"), *keys)

    def dialog_again(self, label: str, *keys: str) -> None:
        """The same, when it has been there before."""
        self.expect(f"presented {label}")
        self.window(DIALOGS[label], label.replace(" ", "-") + "-again", *keys)

    def elsewhere(self, *keys: str) -> None:
        """Waits until the first-run window is hidden, and presses keys in the one instead."""
        self.expect("shown elsewhere")
        self.window("Elsewhere", "elsewhere", *keys)

    def window(self, title: str, shot: str, *keys: str) -> None:
        """The same for any window."""
        until(f"the window '{title}'", lambda: active_title() == title)
        self.watcher.look()
        self.picture(shot)
        press(*keys)

    def picture(self, name: str) -> None:
        """Writes what is on screen, when two looks at it are the same: all is drawn, then."""
        self.shots.mkdir(parents=True, exist_ok=True)
        path = self.shots / f"{name}.png"
        before = b""
        for _ in range(10):  # a cursor blinks now and then
            subprocess.run(["import", "-window", "root", str(path)], check=True, timeout=LIMIT)
            now = subprocess.run(
                ["identify", "-format", "%#", str(path)],
                check=True,
                capture_output=True,
                timeout=LIMIT,
            ).stdout
            if now == before:
                break
            before = now

    def picture_of_guide(self, stage: str, beside: str | None = None) -> None:
        """Takes the picture of the first-run window that the guide shows, and fails when that one
        does not look like it.  Delete the guide's: it is made anew.

        A dialog with the title `beside` is moved down first, so that both are seen.
        """
        windows = visible("First run")[:1]
        if beside:
            dialog = visible(beside)[0]
            x, y = geometry(dialog).left, frame(windows[0]).top + BESIDE
            xdotool("windowmove", "--sync", dialog, str(x), str(y))
            windows.append(dialog)
        self.picture(f"guide-{stage}")
        # Now that all is drawn: one may have grown since it was moved.
        areas = [frame(window) for window in windows]
        left, top = min(at.left for at in areas) - 16, min(at.top for at in areas) - 16
        right, bottom = (max(at.right for at in areas) + 16, max(at.bottom for at in areas) + 16)
        taken = self.shots / f"guide-{stage}.png"
        kept = PICTURES / f"{self.kind}-{stage}.png"
        crop = ["-crop", f"{right - left}x{bottom - top}+{left}+{top}", "+repage"]
        small = ["-strip", "+dither", "-colors", "255"]
        subprocess.run(["mogrify", *crop, *small, str(taken)], check=True, timeout=LIMIT)
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            shutil.copy(taken, kept)
        compared = subprocess.run(
            ["compare", "-metric", "RMSE", str(taken), str(kept), "null:"],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        ).stderr
        difference = re.search(r"\(([\d.e-]+)\)", compared)
        if difference is None or float(difference[1]) > ALIKE:
            raise Failure(f"{kept.name} is not how the program looks: {compared}; see {taken}")

    def expect_nothing(self, seconds: float) -> None:
        """Fails when a line comes meanwhile."""
        try:
            printed = self._lines.get(timeout=seconds)
        except queue.Empty:
            return
        raise Failure(f"printed {printed!r} after\n{self.printed}")

    def end(self) -> None:
        """Waits for the program's own end."""
        while (printed := self._lines.get(timeout=LIMIT)) is not None:
            self.printed += printed
        code = self._process.wait(LIMIT)
        for thread in self._threads:
            thread.join(LIMIT)
        # GTK tells of services of a desktop that are not there; Python tells of tracebacks.
        errors = "".join(line for line in self._errors if "session bus" not in line).strip()
        if code != 0 or errors:
            raise Failure(f"exit status {code}, and said:\n{errors}\nafter\n{self.printed}")

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(LIMIT)
        for thread in self._threads:
            thread.join(LIMIT)


def press(*keys: str) -> None:
    """Presses keys; a longer word is typed."""
    for key in keys:
        if key.startswith("type:"):
            xdotool("type", "--delay", "20", key.removeprefix("type:"))
        else:
            xdotool("key", key)


def click(title: str, across: float, from_bottom: int) -> None:
    """Clicks in the window, at a part of its width and so many pixels above its end."""
    until(f"the window '{title}'", lambda: active_title() == title)
    at = geometry(xdotool("getactivewindow"))
    x = at.left + round((at.right - at.left) * across)
    xdotool("mousemove", str(x), str(at.bottom - from_bottom), "click", "1")


def expect_equal(found: str, expected: str) -> None:
    if found != expected:
        raise Failure(f"expected:\n{expected}\nfound:\n{found}")


def expect_ends(program: Program, **ends: str) -> None:
    """Each interaction has ended so, in this order; `sign_in` is "sign-in"."""
    names = {"sign_in": "sign-in", "urgent": "urgent notice", "notice": "service notice"}
    found = [line for line in program.printed.splitlines() if line.startswith("ended ")]
    expected = [f"ended {names.get(name, name)}: {end}" for name, end in ends.items()]
    expect_equal("\n".join(found), "\n".join(expected))


def expect_all_ends(program: Program, *, sign_in: str, urgent: str, **ends: str) -> None:
    """The same, when both dialogs were used as in `sign_in_dialog`."""
    notice = ends.pop("notice")
    sign_in += ", presented 2 times"
    expect_ends(program, **ends, urgent=urgent, sign_in=sign_in, notice=notice)


def expect_on_screen(*labels: str) -> None:
    """No other dialog is on screen."""
    until(f"on screen: {labels}", lambda: dialogs_on_screen() == list(labels))


def sign_in_dialog(program: Program, urgent: Callable[[], None]) -> None:
    """Waits for the sign-in, at the time when nothing disturbs it any more.

    `urgent` answers the urgent notice, which comes when the user has begun to type.
    """
    program.dialog("sign-in")
    press("type:i")
    program.dialog("urgent notice")
    urgent()
    program.dialog_again("sign-in", "BackSpace")


class Terminal:
    """A program in a terminal."""

    def __init__(self, command: list[str]) -> None:
        self.shown = ""
        self._seen = 0
        child, self._master = pty.fork()
        if child == 0:
            os.execvp(command[0], command)
        self._child = child

    def _read(self) -> bool:
        try:
            text = os.read(self._master, 4096)
        except OSError:  # its other end is closed
            return False
        self.shown += text.decode().replace("\r\n", "\n")
        return bool(text)

    def answer(self, prompt: str, keys: str) -> None:
        """Waits for a prompt, and types."""
        while prompt not in self.shown[self._seen :]:
            if not self._read():
                raise Failure(f"ended without '{prompt}' after\n{self.shown}")
        self._seen = self.shown.index(prompt, self._seen) + len(prompt)
        os.write(self._master, keys.encode())

    def end(self) -> None:
        while self._read():
            pass
        os.close(self._master)
        _, status = os.waitpid(self._child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            raise Failure(f"exit status {code} after\n{self.shown}")
