"""Work on Qt's loop, as PySide6 has it.

::

    application = QApplication()
    inturn.loops.qt.attach()
    application.exec()
"""

from __future__ import annotations

from PySide6.QtCore import QAbstractEventDispatcher, QSocketNotifier

from .._errors import UnsupportedError
from ._attachment import Attachment, Source

__all__ = ["QtAttachment", "attach"]


class QtAttachment(Attachment):
    """See `attach`."""

    _loop = "qt"

    def _begin(self, descriptor: int) -> None:
        if QAbstractEventDispatcher.instance() is None:
            raise UnsupportedError("this thread has no Qt loop: create the application first")
        self._notifier = QSocketNotifier(descriptor, QSocketNotifier.Type.Read)
        self._notifier.activated.connect(self._ready)

    def _end(self) -> None:
        self._notifier.setEnabled(False)
        self._notifier.activated.disconnect(self._ready)  # it keeps the attachment alive
        self._notifier.deleteLater()

    def _ready(self) -> None:
        """Makes the calls of one turn.  The descriptor is not watched meanwhile: work may open a
        dialog, whose own loop should sleep."""
        self._notifier.setEnabled(False)
        try:
            self._turn()
        finally:
            if self._attached:
                self._notifier.setEnabled(True)


def attach(source: Source | None = None) -> QtAttachment:
    """Makes the calling thread's Qt loop drain an executor: by default the main one.

    An exception in work fails its operation.  PySide6 reports a KeyboardInterrupt, as it does for
    any slot.  Detach before the application, or the ``QThread``, ends.

    :raises BusyError: the executor is already attached to a loop.
    :raises UnsupportedError: the thread has no Qt loop yet.
    :raises WrongThreadError: another thread drains the executor; or it is the main executor, and
        the caller is not the main thread.
    """
    return QtAttachment(source)
