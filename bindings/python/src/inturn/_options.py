"""What an operation may be enqueued with."""

from __future__ import annotations

import itertools
import threading
import weakref
from ctypes import c_char_p, pointer
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypedDict, Union

from . import _prototypes as c
from ._callbacks import ask_condition, ask_decide, keep_interrupt, nanoseconds, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._ends import Work
    from ._futures import Future
    from ._operations import Operation
    from ._owners import Owner
    from ._queues import Queue
    from ._tokens import Token


class AfterPolicy(IntEnum):
    """What becomes of an operation when one that it comes after does not finish."""

    ENDED = 0  # nothing: it starts when all have ended
    FINISHED = 1  # it ends cancelled, `Cause.DEPENDENCY`


class Verdict(IntEnum):
    """What a condition says of its operation."""

    START = 0
    SKIP = 1  # it ends finished, `Cause.SKIPPED`
    GIVE_UP = 2  # it ends cancelled, `Cause.CONDITION`


class Retry(NamedTuple):
    """How often a failed operation is started again, and when.

    At most so many ``attempts``, the first one included (0: no limit), with a ``delay`` of seconds
    before the second, which is ``factor`` times longer before each further one, though not longer
    than ``max_delay`` (0: no limit). At most the part ``jitter`` of each delay, 0 to 1, is left out
    at random. ``decide(exception, attempts)``, called by the queue's executor, says whether a
    failure is worth another attempt; what it raises is the operation's failure, caused by that one.
    """

    attempts: int = 0
    delay: float = 0
    factor: float = 1
    max_delay: float = 0
    jitter: float = 0
    decide: Callable[[BaseException, int], bool] | None = None


Condition = Callable[[], Union[Verdict, bool]]
"""Says whether work is to be called: False is ``Verdict.SKIP``; what it raises fails it."""


class OperationOptions(TypedDict, total=False):
    """What `Queue.enqueue` takes by keyword, where it is explained, and `Queue.batch`, too."""

    priority: int
    after: Iterable[Operation | Future[Any]]
    after_policy: AfterPolicy | bool
    barrier: bool
    urgent: bool
    exclusive: Iterable[str]
    condition: Condition | None
    retry: Retry | None
    key: str | None
    join: bool
    owner: Owner | None
    max_wait: float
    max_run: float
    free_at_max_run: bool
    stall: float
    cancel_grace: float


def _set_priority(fields: dict[str, Any], priority: int) -> None:
    if not -(2**31) <= priority < 2**31:
        raise ValueError(f"not a priority: {priority!r}")
    fields["priority"] = priority


def _set_after(fields: dict[str, Any], after: Iterable[Operation | Future[Any]]) -> None:
    handles = [c.inturn_operation(operation._handle or 0) for operation in after]
    fields["after"] = (c.inturn_operation * len(handles))(*handles)
    fields["after_count"] = len(handles)


def _set_exclusive(fields: dict[str, Any], names: Iterable[str]) -> None:
    if isinstance(names, str):
        raise TypeError(f"names, not a name: {names!r}")
    encoded = [text(name) for name in names]
    fields["exclusive"] = (c_char_p * len(encoded))(*encoded)
    fields["exclusive_count"] = len(encoded)


def _set_condition(fields: dict[str, Any], condition: Condition | None) -> None:
    if condition is not None:
        if not callable(condition):
            raise TypeError(f"not callable: {condition!r}")
        fields["condition"] = ask_condition


def _set_retry(fields: dict[str, Any], retry: Retry | None) -> None:
    if retry is None:
        return
    if not isinstance(retry, Retry):
        raise TypeError(f"not a Retry: {retry!r}")
    if not 0 <= retry.attempts < 2**32:
        raise ValueError(f"not a number of attempts: {retry.attempts!r}")
    structure = c.inturn_retry(
        max_attempts=retry.attempts,
        delay_ns=nanoseconds(retry.delay),
        # To C, 0 is the default; here it is as wrong as any below 1.
        factor=retry.factor or -1.0,
        max_delay_ns=nanoseconds(retry.max_delay),
        jitter=retry.jitter,
    )
    if retry.decide is not None:
        if not callable(retry.decide):
            raise TypeError(f"not callable: {retry.decide!r}")
        structure.decide = ask_decide
    fields["retry"] = pointer(structure)


def _set_key(fields: dict[str, Any], key: str | None) -> None:
    if key is not None:
        fields["key"] = text(key)


def _set_owner(fields: dict[str, Any], owner: Owner | None) -> None:
    if owner is not None:
        fields["owner"] = owner._handle


def _plain(field: str, convert: Callable[[Any], Any]) -> Callable[[dict[str, Any], Any], None]:
    def put(fields: dict[str, Any], value: Any) -> None:
        fields[field] = convert(value)

    return put


_SETTERS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    "priority": _set_priority,
    "after": _set_after,
    "after_policy": _plain("after_policy", AfterPolicy),
    "barrier": _plain("barrier", bool),
    "urgent": _plain("urgent", bool),
    "exclusive": _set_exclusive,
    "condition": _set_condition,
    "retry": _set_retry,
    "key": _set_key,
    "join": _plain("join", bool),
    "owner": _set_owner,
    "max_wait": _plain("max_wait_ns", nanoseconds),
    "max_run": _plain("max_run_ns", nanoseconds),
    "free_at_max_run": _plain("max_run_policy", bool),
    "stall": _plain("stall_ns", nanoseconds),
    "cancel_grace": _plain("cancel_grace_ns", nanoseconds),
}


def structure_of(label: str | None, options: OperationOptions) -> c.inturn_operation_options:
    """The options as the library takes them."""
    fields: dict[str, Any] = {}
    if label is not None:
        fields["label"] = text(label)
    for name, value in options.items():
        setter = _SETTERS.get(name)
        if setter is None:
            raise TypeError(f"an unexpected keyword argument: {name!r}")
        setter(fields, value)
    if options.get("join") and options.get("key") is None:
        raise ValueError("an operation that joins others needs a key")
    return c.inturn_operation_options(**fields)


class Peers:
    """The operations of one queue that join others of their key, so that they get its result.

    The library tells who has joined only whose end it was: by a number. So what an operation's
    token is given is told, with its number, to all that may have joined it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # protects _by_key; a finaliser may come while it is held
        self._by_key: dict[str, dict[int, Extras]] = {}
        self._numbers = itertools.count(1)

    def add(self, key: str, extras: Extras, joins: bool) -> int:
        with self._lock:
            number = next(self._numbers) & 0x7FFFFFFF
            if joins:
                self._by_key.setdefault(key, {})[number] = extras
            return number

    def remove(self, key: str, number: int) -> None:
        with self._lock:
            peers = self._by_key.get(key, {})
            peers.pop(number, None)
            if not peers:
                self._by_key.pop(key, None)

    def tell(self, key: str, number: int, given: tuple[Any, BaseException | None]) -> None:
        with self._lock:
            for other in list(self._by_key.get(key, {}).values()):
                other.told[number] = given


class Extras:
    """What an operation has that may be attempted more than once, has a condition or a key."""

    __slots__ = (
        "condition",
        "decide",
        "key",
        "number",
        "peers",
        "raised",
        "restarts",
        "token",
        "told",
    )

    def __init__(self, may_yield: bool, peers: Peers, options: OperationOptions) -> None:
        retry = options.get("retry")
        self.condition = options.get("condition")
        self.decide = None if retry is None else retry.decide
        self.restarts = may_yield or retry is not None
        self.raised: BaseException | None = None  # by the condition
        self.token: weakref.ref[Token] | None = None  # of the latest attempt
        self.key = options.get("key")
        self.peers = peers
        self.told: dict[int, tuple[Any, BaseException | None]] = {}
        self.number = (
            1 if self.key is None else peers.add(self.key, self, bool(options.get("join")))
        )

    @staticmethod
    def are_needed(options: OperationOptions) -> bool:
        """Whether an operation with these options has any."""
        return (
            options.get("retry") is not None
            or options.get("key") is not None
            or options.get("condition") is not None
        )

    def ask(self) -> int:
        """The condition's verdict. What it raises fails the attempt, in `begin`."""
        try:
            assert self.condition is not None
            answer = self.condition()
            if answer is True:
                return Verdict.START
            return Verdict.SKIP if answer is False else Verdict(answer)
        except BaseException as error:
            self.raised = error
            return Verdict.START

    def begin(self, operation: Operation, token: Token, work: Work | None) -> None:
        """An attempt begins. Its token keeps the work, for the next one."""
        if self.restarts:
            operation._result = operation._exception = None
            self.token = weakref.ref(token)
            token._work = work
            token._handlers, operation._handlers = operation._handlers, None
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised

    def give(self, result: Any, error: BaseException | None) -> None:
        """The operation's token is given this."""
        if self.key is not None:
            self.peers.tell(self.key, self.number, (result, error))

    def is_worth(self, operation: Operation, attempts: int) -> bool:
        """Whether the operation's failure is worth another attempt."""
        error = operation._exception
        try:
            assert self.decide is not None
            assert error is not None
            return bool(self.decide(error, attempts))
        except BaseException as raised:
            if raised is not error and raised.__cause__ is None:
                raised.__cause__ = error
            operation._exception = raised
            self.give(None, raised)
            keep_interrupt(raised)
            return False

    def drop(self) -> None:
        """The library is done with the operation."""
        if self.key is not None:
            self.peers.remove(self.key, self.number)
        self.condition = self.decide = None
        raised, self.raised = self.raised, None
        if raised is not None:  # it ended before the work was called
            raise raised


def extras_of(queue: Queue, options: OperationOptions) -> Extras | None:
    """What an operation of the queue needs beyond what the library does for it, if anything."""
    if not queue._may_yield and not (options and Extras.are_needed(options)):
        return None
    return Extras(queue._may_yield, queue.__dict__.setdefault("_peers", Peers()), options)
