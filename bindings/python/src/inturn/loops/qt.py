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
        self._notifier.activated.disconnect(self._ready)  # it holds the attachment
        self._notifier.deleteLater()

    def _ready(self) -> None:
        """A turn.  Meanwhile the descriptor is not watched: work may open a dialog, which runs
        a loop of its own, and that is to sleep."""
        self._notifier.setEnabled(False)
        try:
            self._turn()
        finally:
            if self._attached:
                self._notifier.setEnabled(True)


def attach(source: Source | None = None) -> QtAttachment:
    """Lets the calling thread's Qt loop drain an executor: the main one, unless another is given.

    An exception in work fails its operation; a KeyboardInterrupt is reported as PySide6 reports
    what leaves any slot.  Detach before the application, or the ``QThread``, ends.

    :raises BusyError: the executor is attached to a loop already.
    :raises UnsupportedError: the thread has no Qt loop yet.
    :raises WrongThreadError: another thread drains the executor; the main executor off the main
        thread.
    """
    return QtAttachment(source)
