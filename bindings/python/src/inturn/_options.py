"""The options of an operation."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterable
from ctypes import c_char_p
from functools import cache
from typing import TYPE_CHECKING, Any, Callable, cast

from . import _prototypes as c
from ._arguments import (
    NAME,
    TIME,
    checked,
    function,
    handle_of,
    nanoseconds,
    number,
    one_of,
    text,
    whole,
)
from ._callbacks import call_with_end, entries, forget_end, keep_interrupt, register
from ._ends import Given
from ._errors import TimedOutError, UnsupportedError
from ._futures import Future
from ._library import trampoline
from ._operations import Operation

if TYPE_CHECKING:
    from ._ends import Work
    from ._policies import OperationOptions, Retry, Verdict
    from ._queues import Queue
    from ._tokens import Token


_Fields = Callable[[Any], dict[str, Any]]


def _option(what: str, fields: _Fields, *kinds: tuple[int, str]) -> tuple[str, _Fields, Any]:
    """An option: its valid values, its fields in the library's struct, and the only kinds of queues
    that have it; all if there are none."""
    return what, fields, kinds


def _field(name: str, convert: Callable[[Any], Any]) -> _Fields:
    return lambda value: {name: convert(value)}


def _callback(**fields: Callable[[], Any]) -> _Fields:
    """For a Python function: the fields with what the library calls in its place."""

    def take(given: Any) -> dict[str, Any]:
        function(given)
        return {name: made() for name, made in fields.items()}

    return take


def _after(operations: Iterable[Operation | Future[Any]]) -> dict[str, Any]:
    take = one_of(Operation, Future)
    handles = [c.inturn_operation(take(operation)._handle or 0) for operation in operations]
    return {"after": (c.inturn_operation * len(handles))(*handles), "after_count": len(handles)}


def _after_policy(given: Any) -> dict[str, Any]:
    from ._policies import AfterPolicy

    return {"after_policy": AfterPolicy(given)}


def _retry(given: Any) -> dict[str, Any]:
    from ._policies import Retry

    return {"retry": one_of(Retry)(given)}


def _exclusive(names: Iterable[str]) -> dict[str, Any]:
    if isinstance(names, str):
        raise TypeError
    encoded = [text(name) for name in names]
    return {"exclusive": (c_char_p * len(encoded))(*encoded), "exclusive_count": len(encoded)}


def _structure_of_retry(retry: Retry) -> c.inturn_retry:
    structure = c.inturn_retry(
        max_attempts=checked(
            retry, "attempts", retry.attempts, "a number, 0 or more", whole(0, 2**32)
        ),
        delay_ns=checked(retry, "delay", retry.delay, TIME, nanoseconds),
        # In C, 0 means the default; here it is as wrong as anything below 1.
        factor=checked(retry, "factor", retry.factor, "a number, 1 or more", number) or -1.0,
        max_delay_ns=checked(retry, "max_delay", retry.max_delay, TIME, nanoseconds),
        jitter=checked(retry, "jitter", retry.jitter, "a number from 0 to 1", number),
        only_failures=bool(retry.only_failures),
        decide=_ask_decide(),
    )
    if retry.decide is not None:
        checked(retry, "decide", retry.decide, "a function of an exception and a number", function)
    return structure


# Questions about an operation, made when they are first needed; neither raises.
@cache
def _ask_condition() -> Any:
    from ._policies import Verdict

    return trampoline(c.inturn_condition_fn, lambda key: entries[key]._extras.ask(Verdict))


@cache
def _ask_decide() -> Any:
    def decide(key: int, *told: int) -> bool:
        operation = entries[key]
        return bool(operation._extras.is_worth(operation, *told))

    return trampoline(c.inturn_retry_fn, decide)


_BOOL = "a bool"
_CONCURRENT = (c.INTURN_QUEUE_CONCURRENT, "operation queues")
_INTERACTION = (c.INTURN_QUEUE_INTERACTION, "interaction queues")
_OPTIONS = {
    "label": _option(NAME, _field("label", text)),
    "on_end": _option("a function of an End", _callback()),
    "priority": _option(
        "an integer of 32 bits",
        _field("priority", whole(-(2**31), 2**31)),
        _CONCURRENT,
        _INTERACTION,
    ),
    "after": _option("a list of operations and futures of queues", _after),
    "after_policy": _option("an AfterPolicy or a bool", _after_policy),
    "barrier": _option(_BOOL, _field("barrier", bool), _CONCURRENT),
    "urgent": _option(_BOOL, _field("urgent", bool), _INTERACTION),
    "exclusive": _option("a list of names", _exclusive),
    "condition": _option("a function without arguments", _callback(condition=_ask_condition)),
    "retry": _option("a Retry", _retry),
    "key": _option(NAME, _field("key", text)),
    "join": _option(_BOOL, _field("join", bool)),
    "owner": _option("an Owner", _field("owner", lambda owner: handle_of(c.inturn_owner)(owner))),
    "max_wait": _option(TIME, _field("max_wait_ns", nanoseconds)),
    "max_run": _option(TIME, _field("max_run_ns", nanoseconds)),
    "free_at_max_run": _option(_BOOL, _field("max_run_policy", bool)),
    "stall": _option(TIME, _field("stall_ns", nanoseconds)),
    "cancel_grace": _option(TIME, _field("cancel_grace_ns", nanoseconds)),
}


def with_lists(options: OperationOptions) -> OperationOptions:
    """The options with their iterables read into lists, as an iterable can be read only once."""
    read: dict[str, Any] = {**options}
    for name in ("after", "exclusive"):
        if isinstance(read.get(name), Iterable) and not isinstance(read[name], str):
            read[name] = tuple(read[name])
    return cast("OperationOptions", read)


def structure_of(queue: Queue, options: OperationOptions) -> c.inturn_operation_options:
    """The options in the library's form."""
    fields: dict[str, Any] = {}
    for name, value in options.items():
        option = _OPTIONS.get(name)
        if option is None:
            raise TypeError(f"{queue!r} has no option {name!r}, but {', '.join(_OPTIONS)}")
        if value is None:
            continue
        what, convert, kinds = option
        fields.update(checked(queue, name, value, what, convert))
        if kinds and value and queue._kind not in [kind for kind, _ in kinds]:
            whose = " and ".join(name for _, name in kinds)
            raise UnsupportedError(f"{name} is for {whose}, not for {queue!r}")
    if options.get("join") and options.get("key") is None:
        raise ValueError(f"an operation of {queue!r} with join needs a key")
    if "retry" in fields:
        fields["retry"] = c.type_of("*retry")(_structure_of_retry(fields["retry"]))
    return c.inturn_operation_options(**fields)


def with_end(
    structure: c.inturn_operation_options | None, tell: Callable[[c.inturn_end], object]
) -> c.inturn_operation_options:
    """The options for one operation whose end is reported."""
    if structure is None:
        own = c.inturn_operation_options()
    else:  # the shared one has no end callback
        own = c.inturn_operation_options.from_buffer_copy(structure)
    own.on_end = call_with_end
    own.end_context = register(tell)
    own.end_destroy = forget_end
    return own


class Peers:
    """The operations of one queue that may join another one, and then need its result.

    The library tells an operation that has joined only the number of the operation whose end it
    got. So when a token is given a result, all operations that may have joined learn whose number
    that is.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # protects _by_key; a finaliser may run while it is held
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

    def tell(self, key: str, leader: Extras) -> None:
        with self._lock:
            for other in list(self._by_key.get(key, {}).values()):
                other.leaders[leader.number] = leader


class Extras:
    """The extra state of an operation with a retry, a condition or a key."""

    __slots__ = (
        "condition",
        "decide",
        "given",
        "is_handed_over",
        "key",
        "leaders",
        "number",
        "peers",
        "raised",
        "restarts",
        "token",
    )

    def __init__(self, may_yield: bool, peers: Peers, options: OperationOptions) -> None:
        retry = options.get("retry")
        self.condition = options.get("condition")
        self.decide = None if retry is None else retry.decide
        self.is_handed_over = False  # code in another language has the latest token
        self.restarts = may_yield or retry is not None
        self.raised: BaseException | None = None  # by the condition
        self.token: weakref.ref[Token] | None = None  # of the latest attempt
        self.key = options.get("key")
        self.peers = peers
        self.given = Given()  # to the latest attempt's token
        self.leaders: dict[int, Extras] = {}  # which it may have joined, by their numbers
        self.number = (
            1 if self.key is None else peers.add(self.key, self, bool(options.get("join")))
        )

    def latest(self) -> Token | None:
        """The latest attempt's token."""
        return None if self.token is None else self.token()

    def ask(self, verdict: type[Verdict]) -> int:
        """The condition's verdict. If it raises, `begin` fails the attempt with the exception."""
        try:
            assert self.condition is not None
            answer = self.condition()
            if answer is True:
                return verdict.START
            return verdict.SKIP if answer is False else verdict(answer)
        except BaseException as error:
            self.raised = error
            return verdict.START

    def begin(self, operation: Operation, token: Token, work: Work | None) -> Work | None:
        """An attempt begins with this work, which its token keeps for the next attempt."""
        if self.restarts:
            last = self.latest()
            if work is None and last is not None:  # it was timed out
                last._give_work_back()
                work, operation._work = operation._work, None
            operation._given = token._given = Given()  # a late token gives its own attempt's
            self.token, self.is_handed_over = weakref.ref(token), False
            token._work = work
            token._handlers, operation._handlers = operation._handlers, None
        self.given = token._given
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised
        return work

    def tell_peers(self) -> None:
        """The operation's token is given a result or an error."""
        if self.key is not None:
            self.peers.tell(self.key, self)

    def given_to(self, number: int) -> Given:
        """What the operation was given that this one has joined."""
        leader = self.leaders.get(number)
        return Given() if leader is None else leader.given

    def is_worth(self, operation: Operation, code: int, attempts: int) -> bool:
        """Whether the operation's failure is worth another attempt."""
        error = operation._given.exception
        if code == TimedOutError.status:
            error = TimedOutError(f"{operation!r}, attempt {attempts}, has exceeded its max_run")
        elif error is None and self.is_handed_over:  # only code in another language knows why
            return self.decide is None
        if not isinstance(error, Exception):
            return False
        if self.decide is None:
            return True
        try:
            return bool(self.decide(error, attempts))
        except BaseException as raised:
            if raised is not error and raised.__cause__ is None:
                raised.__cause__ = error
            operation._given.exception = raised
            self.tell_peers()
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
    if not (
        queue._may_yield
        or options.get("retry") is not None
        or options.get("key") is not None
        or options.get("condition") is not None
    ):
        return None
    return Extras(queue._may_yield, queue.__dict__.setdefault("_peers", Peers()), options)
