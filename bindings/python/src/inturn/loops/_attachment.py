"""Code that the loops share."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Callable, Union

from .._errors import WrongThreadError
from .._executors import Executor
from .._handles import NotCopied
from .._library import lib
from .dispatch import MainQueue

if TYPE_CHECKING:
    from typing_extensions import Self

# How many seconds one turn of a loop may spend on calls.
_TURN = 0.002


Source = Union[Executor, MainQueue]
"""What can be attached."""


class Attachment(NotCopied):
    """A loop that drains a source.  ``with`` detaches it.

    Use it only on the thread that made it.
    """

    # The library's name for this kind of loop.
    _loop = ""

    def __init__(self, source: Source | None) -> None:
        self.source: Source = Executor.main() if source is None else source
        self._thread = threading.get_ident()
        self._process = os.getpid()
        self._give_back = _take_over(self.source, self._loop)
        self._attached = True
        try:
            self._begin(self.source.fileno())
        except BaseException:
            self._attached = False
            self._give_back()
            raise

    @property
    def attached(self) -> bool:
        """Whether the loop drains the source."""
        return self._attached

    def detach(self) -> None:
        """Detaches the source from the loop.  A second call does nothing.

        :raises WrongThreadError: the caller is not the thread that attached it.
        """
        if not self._attached:
            return
        if threading.get_ident() != self._thread:
            raise WrongThreadError("only the thread that attached it can detach it")
        self._attached = False
        self._end()
        if os.getpid() == self._process:  # a forked child has nothing to give back
            self._give_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()

    def __repr__(self) -> str:
        state = "attached" if self._attached else "detached"
        return f"<{type(self).__module__}.{type(self).__name__} {self.source!r} {state}>"

    def _begin(self, descriptor: int) -> None:
        """Lets the loop watch the descriptor and call `_turn`, or something that does."""
        raise NotImplementedError

    def _end(self) -> None:
        """Undoes `_begin`."""
        raise NotImplementedError

    def _turn(self) -> bool:
        """Makes the calls of one turn; returns whether more may wait.

        A loop on the wrong thread calls nothing, and watches no more.
        """
        if threading.get_ident() != self._thread:
            self._end()
            raise WrongThreadError(
                "the loop runs on another thread than the one that attached it; it calls "
                "nothing: attach on the loop's thread"
            )
        end = time.monotonic() + _TURN
        while self._attached:
            try:
                if self.source.drain(1) == 0:
                    return False
            except WrongThreadError:
                return False  # the drain further up the stack will go on
            if time.monotonic() >= end:
                return self._attached
        return False


def _take_over(source: Source, loop: str) -> Callable[[], object]:
    """Claims the source for the calling thread; returns a function that gives it back."""
    if isinstance(source, MainQueue):
        return source._claim()
    name, handle = loop.encode(), source._handle
    lib.inturn_executor_attach(handle, name, None)
    return lambda: lib.inturn_executor_detach(handle, name)
