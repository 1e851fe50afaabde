"""Handlers and segments: what the library calls for a token besides the work."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Callable

from ._errors import AlreadyFinishedError

if TYPE_CHECKING:
    from ._ends import Work
    from ._tokens import Token


class Handler:
    """Calls a handler with a token while the token exists; the token keeps it alive."""

    __slots__ = ("__weakref__", "_current", "_handler")

    def __init__(self, current: Callable[[], Token | None], handler: Work) -> None:
        self._current = current
        self._handler = handler

    def _tell(self, _bits: int) -> None:
        if (token := self._current()) is not None:
            with suppress(AlreadyFinishedError):  # it ended before the request
                self._handler(token)

    def _end(self) -> None:
        """The handler will not be called any more."""


class Segment:
    """A further segment of an operation: it keeps the token while it waits."""

    __slots__ = ("_token", "_work")

    def __init__(self, token: Token, work: Work) -> None:
        self._token: Token | None = token
        self._work = work

    def _start(self, _bits: int) -> None:
        token, self._token = self._token, None
        assert token is not None
        try:
            self._work(token)
        except BaseException as error:
            token._operation._fail_by(token, error)

    def _dropped(self) -> None:
        self._token = None
