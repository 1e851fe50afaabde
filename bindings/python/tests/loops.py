"""The loops that have adapters, each behind the same few functions."""

from __future__ import annotations

import asyncio
import atexit
import functools
import importlib
import os
import queue
import subprocess
import sys
import threading
import tkinter
import warnings
from typing import Any, Callable, Optional

import outcome
import trio

import inturn.loops.asyncio
import inturn.loops.tk
import inturn.loops.trio
from inturn.loops import Attachment, Source
from support import LIMIT

# Where Debian's python3-gi is, which a virtual environment does not include.
_DEBIAN = "/usr/lib/python3/dist-packages"

Tick = Optional[Callable[[], object]]


def glib_adapter() -> Any:
    """The module for GLib; PyGObject may be the system's."""
    try:
        import gi  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: F401
    except ModuleNotFoundError:
        sys.path.append(_DEBIAN)
    with warnings.catch_warnings():  # from PyGObject's own importer
        warnings.simplefilter("ignore", ImportWarning)
        return importlib.import_module("inturn.loops.glib")


def glib() -> Any:
    glib_adapter()
    return importlib.import_module("gi.repository.GLib")


@functools.lru_cache
def begin_display() -> None:
    """Starts an invisible display, unless there is one.

    It stays until the process ends, in whichever way: Tk keeps its connection, and the server ends
    with the last one.  (Xlib ends a process that loses its display.)
    """
    if os.environ.get("DISPLAY"):
        return
    reader, writer = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", "640x480x24", "-terminate"],
        pass_fds=[writer],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(server.wait, LIMIT)
    atexit.register(server.terminate)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        number = pipe.readline().strip().decode()  # once it takes connections
    assert number, "Xvfb has not begun"
    os.environ["DISPLAY"] = f":{number}"


class AsyncioHost:
    name = "asyncio"

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._tick: asyncio.TimerHandle | None = None

    def attach(self, source: Source | None = None) -> Attachment:
        return inturn.loops.asyncio.attach(source, loop=self.loop)

    def run(self) -> None:
        self.loop.run_forever()

    def stop(self) -> None:
        self.loop.stop()

    def set_tick(self, seconds: float, tick: Tick) -> None:
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None
        if tick is None:
            return

        def call() -> None:
            self._tick = self.loop.call_later(seconds, call)
            tick()

        self._tick = self.loop.call_later(seconds, call)

    def close(self) -> None:
        self.loop.close()


# Tcl ends the process if an interpreter is collected on another thread than its own: these stay.
_tcl: list[Any] = []


class TkHost:
    name = "tk"

    def __init__(self) -> None:
        begin_display()
        self.root = tkinter.Tk()
        _tcl.append(self.root.tk)
        self._tick: str | None = None

    def attach(self, source: Source | None = None) -> Attachment:
        return inturn.loops.tk.attach(self.root, source)

    def run(self) -> None:
        self.root.mainloop()

    def stop(self) -> None:
        self.root.quit()

    def set_tick(self, seconds: float, tick: Tick) -> None:
        """Ticks when Tk would draw: when nothing else is left to do."""
        if self._tick is not None:
            self.root.after_cancel(self._tick)
            self._tick = None
        if tick is None:
            return

        def later() -> None:
            self._tick = self.root.after_idle(call)

        def call() -> None:
            self._tick = self.root.after(round(seconds * 1000), later)
            tick()

        self._tick = self.root.after(round(seconds * 1000), later)

    def nest(self, seconds: float) -> None:
        """Like a modal dialog."""
        over = tkinter.BooleanVar(self.root, False)
        self.root.after(round(seconds * 1000), lambda: over.set(True))
        self.root.wait_variable(over)

    def close(self) -> None:
        self.root.destroy()


class GLibHost:
    name = "glib"

    def __init__(self) -> None:
        self.adapter, self.glib = glib_adapter(), glib()
        self.context = self.glib.MainContext()
        self.loop = self.glib.MainLoop.new(self.context, False)
        self._tick: Any = None

    def attach(self, source: Source | None = None) -> Attachment:
        attachment: Attachment = self.adapter.attach(source, context=self.context)
        return attachment

    def run(self) -> None:
        self.loop.run()

    def stop(self) -> None:
        self.loop.quit()

    def _timer(self, seconds: float, function: Callable[[], bool]) -> Any:
        timer = self.glib.timeout_source_new(round(seconds * 1000))
        timer.set_callback(lambda _: function())
        # Like GTK's redraws: after input, before idle work.
        timer.set_priority(self.glib.PRIORITY_HIGH_IDLE + 20)
        timer.attach(self.context)
        return timer

    def set_tick(self, seconds: float, tick: Tick) -> None:
        if self._tick is not None:
            self._tick.destroy()
            self._tick = None
        if tick is not None:
            self._tick = self._timer(seconds, lambda: bool((tick(), True)))

    def nest(self, seconds: float) -> None:
        nested = self.glib.MainLoop.new(self.context, False)
        self._timer(seconds, lambda: bool(nested.quit()))
        nested.run()

    def close(self) -> None:
        pass


class QtHost:
    name = "qt"

    def __init__(self) -> None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        self.core = importlib.import_module("PySide6.QtCore")
        widgets = importlib.import_module("PySide6.QtWidgets")
        # One for the process, which stays.
        self.application = self.core.QCoreApplication.instance() or widgets.QApplication([])
        self.loop = self.core.QEventLoop()
        self._tick: Any = None

    def attach(self, source: Source | None = None) -> Attachment:
        attachment: Attachment = importlib.import_module("inturn.loops.qt").attach(source)
        return attachment

    def run(self) -> None:
        self.loop.exec()

    def stop(self) -> None:
        self.loop.quit()

    def set_tick(self, seconds: float, tick: Tick) -> None:
        if self._tick is not None:
            self._tick.stop()
            self._tick = None
        if tick is not None:
            self._tick = self.core.QTimer()
            self._tick.timeout.connect(tick)
            self._tick.start(round(seconds * 1000))

    def nest(self, seconds: float) -> None:
        """Like ``QDialog.exec``."""
        nested = self.core.QEventLoop()
        self.core.QTimer.singleShot(round(seconds * 1000), nested.quit)
        nested.exec()

    def close(self) -> None:
        self.core.QCoreApplication.sendPostedEvents(None, self.core.QEvent.Type.DeferredDelete)


class TrioHost:
    """Its run continues between the calls of `run`, as a guest of this little loop."""

    name = "trio"

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._is_stopped = False
        self._thread = threading.current_thread()
        self._ticking = trio.CancelScope()
        trio.lowlevel.start_guest_run(
            self._main,
            run_sync_soon_threadsafe=self._calls.put,
            done_callback=lambda outcome: self.stop(),
        )
        self.run()

    async def _main(self) -> None:
        async with trio.open_nursery() as self.nursery:
            self._token = trio.lowlevel.current_trio_token()
            self.stop()
            await trio.sleep_forever()

    def _inside(self, function: Callable[[], Any]) -> Any:
        """Calls the function in trio's run."""
        outcomes: list[outcome.Outcome[Any]] = []

        async def call() -> None:
            outcomes.append(outcome.capture(function))
            self.stop()

        self._token.run_sync_soon(self.nursery.start_soon, call)
        self.run()
        return outcomes[0].unwrap()

    def attach(self, source: Source | None = None) -> Attachment:
        def call() -> Attachment:
            return inturn.loops.trio.attach(self.nursery, source)

        if threading.current_thread() is not self._thread:
            return call()
        attachment: Attachment = self._inside(call)
        return attachment

    def run(self) -> None:
        self._is_stopped = False
        while not self._is_stopped:
            self._calls.get()()

    def stop(self) -> None:
        self._is_stopped = True

    def set_tick(self, seconds: float, tick: Tick) -> None:
        self._ticking.cancel()
        self._ticking = scope = trio.CancelScope()

        async def call() -> None:
            with scope:
                while tick is not None:
                    await trio.sleep(seconds)
                    tick()

        self._token.run_sync_soon(self.nursery.start_soon, call)

    def close(self) -> None:
        self._token.run_sync_soon(self.nursery.cancel_scope.cancel)
        self.run()


HOSTS: dict[str, Callable[[], Any]] = {
    "asyncio": AsyncioHost,
    "tk": TkHost,
    "glib": GLibHost,
    "qt": QtHost,
    "trio": TrioHost,
}
