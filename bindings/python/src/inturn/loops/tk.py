"""Work on Tk's loop.

::

    root = tkinter.Tk()
    inturn.loops.tk.attach(root)
    root.mainloop()
"""

from __future__ import annotations

import contextlib
import tkinter
from typing import Any

from .._errors import WrongThreadError
from ._attachment import Attachment, Source

__all__ = ["TkAttachment", "attach"]


class TkAttachment(Attachment):
    """See `attach`."""

    _loop = "tk"

    def __init__(self, source: Source | None, root: tkinter.Misc) -> None:
        self.root = root
        self._tk: Any = root.tk
        self._later: str | None = None  # the turn that will make the remaining calls
        super().__init__(source)

    def _begin(self, descriptor: int) -> None:
        self._descriptor = descriptor
        try:
            self._watch()
        except RuntimeError as error:  # Tcl's "different apartment"
            raise WrongThreadError("Tk runs on another thread") from error

    def _watch(self) -> None:
        self._tk.createfilehandler(self._descriptor, tkinter.READABLE, self._ready)

    def _end(self) -> None:
        # The window may be gone, and Tk with it.
        with contextlib.suppress(tkinter.TclError, RuntimeError):
            self._tk.deletefilehandler(self._descriptor)
        if self._later is not None:
            with contextlib.suppress(tkinter.TclError, RuntimeError):
                self.root.after_cancel(self._later)
            self._later = None

    def _ready(self, *_: object) -> None:
        """Makes the calls of one turn.  The descriptor is not watched meanwhile: work may open a
        dialog, whose own loop should sleep."""
        self._later = None
        self._tk.deletefilehandler(self._descriptor)
        more = False
        try:
            more = self._turn()
        finally:
            if self._attached and not more:
                self._watch()
        if more:
            # Tk draws when it is idle, so the remaining calls come after that.
            self._later = self.root.after_idle(self._after_idle)

    def _after_idle(self) -> None:
        self._later = self.root.after(0, self._ready)


def attach(root: tkinter.Misc, source: Source | None = None) -> TkAttachment:
    """Makes Tk's loop drain an executor: by default the main one.

    `root` is any widget of the application, usually its ``tkinter.Tk``.  If more work is waiting
    than one turn can call, the windows are drawn and input is handled before the next turn.  Detach
    before the root is destroyed, or soon after.

    :raises BusyError: the executor is already attached to a loop.
    :raises WrongThreadError: another thread runs Tk or drains the executor; or it is the main
        executor, and the caller is not the main thread.
    """
    return TkAttachment(source, root)
