"""Waits of tasks, which the library is told of: it refuses one that would close a ring."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, Any

from . import _prototypes as c
from ._bells import running_trio
from ._errors import AlreadyFinishedError, StaleError
from ._library import quick, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

# The wait is over already.
_OVER = AlreadyFinishedError.status, StaleError.status
# The parts for asyncio and trio, once those are used.
asyncio_part: Any = None
trio_part: Any = None


def tokens_here() -> Sequence[int]:
    """The tokens of the turns that the calling task is in, the innermost first."""
    part = asyncio_part if trio_part is None or running_trio() is None else trio_part
    tokens: Sequence[int] = () if part is None else part.tokens_here()
    return tokens


def begin(awaited: int | None, tokens: Sequence[int]) -> int:
    """Begins a wait, inside the operations of these tokens, for what has these bits, if any.

    Returns what `end` takes: zero where nothing is held up, or the wait is over already.

    :raises DeadlockError: it could never end.
    """
    if awaited is None:
        return 0
    await_ = c.inturn_await()
    inside: Any
    if len(tokens) == 1:
        inside = byref(c.inturn_token(tokens[0]))
    else:
        inside = (c.inturn_token * len(tokens))(*((token,) for token in tokens))
    status = quick.await_begin(awaited, inside, len(tokens), byref(await_))
    if status and status not in _OVER:
        raise refusal("inturn_await_begin", status)
    bits: int = await_.bits
    return bits


def end(await_: int) -> None:
    """The wait is over, or was given up."""
    if await_:
        quick.await_end(await_)


def check(awaited: int | None, tokens: Sequence[int]) -> None:
    """Only refuses a wait that could never end.

    :raises DeadlockError: it could not.
    """
    end(begin(awaited, tokens))


class Awaiting:
    """A block in which the calling task waits for what has these bits.

    :raises DeadlockError: it could never end.
    """

    __slots__ = ("_await",)

    def __init__(self, awaited: int | None) -> None:
        tokens = tokens_here()
        self._await = 0
        if tokens:
            self._await = begin(awaited, tokens)
        else:
            quick.report_set_awaited(awaited)

    def end(self) -> None:
        end(self._await)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        end(self._await)
