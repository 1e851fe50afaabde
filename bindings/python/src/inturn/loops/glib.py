"""Work on a GLib main context of PyGObject, and so in a GTK program.

::

    inturn.loops.glib.attach()
    application.run()
"""

from __future__ import annotations

import importlib
import threading
from typing import Any

from .._errors import WrongThreadError
from ._attachment import Attachment, Source

__all__ = ["GLibAttachment", "attach"]

_glib: Any = importlib.import_module("gi.repository.GLib")


class _Source(_glib.Source):  # type: ignore[misc, unused-ignore]
    """Watches the descriptor, and calls a function while it is readable."""

    def __init__(self, descriptor: int, ready: Any) -> None:
        super().__init__()
        self._poll = _glib.PollFD(descriptor, _glib.IO_IN)
        self._ready = ready
        self.add_poll(self._poll)

    def prepare(self) -> tuple[bool, int]:
        return False, -1

    def check(self) -> bool:
        return bool(self._poll.revents & _glib.IO_IN)

    def dispatch(self, _callback: object, _arguments: object) -> bool:
        return bool(self._ready())


# Destroyed sources, kept alive while a context may refer to them, until its iteration is over. When
# the last reference goes, PyGObject calls a source's Python object once more, but does not keep it.
_destroyed: list[_Source] = []
_destroyed_lock = threading.Lock()  # protects _destroyed


def _destroy(source: _Source) -> None:
    source.destroy()
    with _destroyed_lock:
        _destroyed.append(source)
        # The Python object owns one reference.
        _destroyed[:] = [other for other in _destroyed if other.ref_count > 1]


class GLibAttachment(Attachment):
    """See `attach`."""

    _loop = "glib"

    def __init__(self, source: Source | None, context: Any) -> None:
        self.context = context
        self._watch: Any = None
        super().__init__(source)

    def _begin(self, descriptor: int) -> None:
        self._watch = _Source(descriptor, self._ready)
        self._watch.set_name("inturn")
        self._watch.attach(self.context)

    def _end(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            _destroy(watch)

    def _ready(self) -> bool:
        watch = self._watch
        more = self._turn()
        if not self._attached:
            return False
        # The remaining calls come after input and drawing.
        priority = _glib.PRIORITY_DEFAULT_IDLE if more else _glib.PRIORITY_DEFAULT
        if watch.get_priority() != priority:
            watch.set_priority(priority)
        return True


def attach(source: Source | None = None, *, context: Any = None) -> GLibAttachment:
    """Makes a main context drain an executor: by default the main one.

    `context` is a ``GLib.MainContext``.  The default is that of the thread; in the main thread of a
    GTK program, it is GTK's.  An exception in work fails its operation.  PyGObject reports a
    KeyboardInterrupt, as it does for any callback.

    :raises BusyError: the executor is already attached to a loop.
    :raises WrongThreadError: another thread runs the context or drains the executor; or it is the
        main executor, and the caller is not the main thread.
    """
    if context is None:
        context = _glib.MainContext.get_thread_default() or _glib.MainContext.default()
    if not context.acquire():
        raise WrongThreadError("another thread runs the context")
    try:
        return GLibAttachment(source, context)
    finally:
        context.release()
