"""A snapshot of all objects of the library."""

from __future__ import annotations

import os
import tempfile
from enum import IntEnum, IntFlag
from typing import Any, Callable, NamedTuple, overload

from . import _prototypes as c
from ._arguments import checked, one_of, whole
from ._diagnosis import StallCause, said
from ._ends import State
from ._library import lib

_FORMATS = ("text", "json", "dot", "html")


class EntryKind(IntEnum):
    """What an entry of a snapshot is about."""

    EXECUTOR = 1
    CLOCK = 2
    OWNER = 3
    BATCH = 4
    WAIT = 5
    QUEUE = 6
    OPERATION = 7
    AFTER = 8
    NAME = 9


class EntryFlag(IntFlag):
    """Further properties of an entry."""

    CANCELLED = 1
    CLOSED = 2
    WAITED_FOR = 4
    BARRIER = 8
    URGENT = 16
    MANUAL = 32
    POOL = 64
    MAIN = 128


class Entry(NamedTuple):
    """One object of a snapshot; see ``inturn_entry`` in ``inturn.h``.

    Fields that its kind does not have are zero, empty or ``None``.  Objects are identified by
    numbers, which can be compared.
    """

    kind: EntryKind
    flags: EntryFlag
    state: State | None
    cause: StallCause
    queue_kind: int
    priority: int
    attempts: int
    suspends: int
    line: int
    file: str | None
    id: int
    queue: int
    operation: int
    other: int
    batch: int
    owner: int
    executor: int
    clock: int
    token: int
    count: int  # type: ignore[assignment]  # the tuple's method of that name is not needed
    pending: int
    running: int
    ended: int
    enqueued_ns: int
    started_ns: int
    at_ns: int
    label: str

    def __str__(self) -> str:
        """Its kind, and what is not zero, empty or ``None``."""
        words = [f"{name}={_text(value)}" for name, value in self._asdict().items() if value]
        return " ".join([self.kind.name.lower(), *words[1:]])


def _text(value: object) -> str:
    if isinstance(value, EntryFlag):
        return "|".join(flag.name.lower() for flag in EntryFlag if flag in value and flag.name)
    if isinstance(value, IntEnum):
        return value.name.lower()
    return repr(value)


def _entry(told: c.inturn_entry) -> Entry:
    return said(
        Entry,
        told,
        kind=EntryKind,
        flags=EntryFlag,
        state=lambda state: State(state) if state else None,
        cause=StallCause,
    )


def snapshot() -> list[Entry]:
    """All objects: executors, clocks, owners, batches and waits, then each queue with its
    operations, running ones first, each with what it waits for.

    Nothing stops for it.  Each queue is shown as it is at one moment, a long one in several pieces.
    Consecutive pending operations of which nothing else is known are one entry with a ``count``.
    ``print(*inturn.snapshot(), sep="\\n")`` prints it.  For a signal handler, import it before, by
    ``from inturn import snapshot``: the handler may interrupt the import that its first use makes.
    """
    entries: list[Entry] = []
    errors: list[BaseException] = []

    def visit(_context: int | None, pointer: Any) -> bool:
        try:
            entries.append(_entry(pointer.contents))
        except BaseException as error:  # an interrupt, perhaps
            errors.append(error)
        return not errors

    lib.inturn_snapshot(c.inturn_visit_fn(visit), None)
    if errors:
        raise errors[0]
    return entries


@overload
def dump(file: None = None, format: str = "text") -> str: ...
@overload
def dump(file: Any, format: str = "text") -> None: ...
def dump(file: Any = None, format: str = "text") -> str | None:
    """Writes a snapshot to a path, a descriptor, or a file that has one; or returns it.

    ``format`` is ``text`` (a line for each entry), ``json``, ``dot`` (for Graphviz: an arrow from
    each queue or operation to what it waits for) or ``html`` (a page for a browser that needs
    nothing else).

    :raises TypeError: the file is none.
    :raises ValueError: the format is unknown, or given as the file; or the file has no descriptor.
    :raises InvalidArgumentError: it cannot be written there.
    """
    what = "one of " + ", ".join(_FORMATS)
    if isinstance(file, str) and file in _FORMATS:
        raise ValueError(f"{file!r} is a format and not a file: dump(format={file!r})")
    number = 1 + checked("inturn", "format", format, what, _FORMATS.index)
    if file is not None:
        _write(file, lambda descriptor: lib.inturn_dump(descriptor, number))
        return None
    with tempfile.TemporaryFile() as made:
        lib.inturn_dump(made.fileno(), number)
        made.seek(0)
        return made.read().decode()


def _write(file: Any, write: Callable[[int], object]) -> None:
    if isinstance(file, (str, bytes, os.PathLike)):
        with open(file, "wb") as opened:  # noqa: PTH123  # a path of bytes, too
            write(opened.fileno())
        return
    what = "a path, a descriptor, or an open file that has one"
    write(checked("inturn", "file", file, what, _descriptor_of))


def _descriptor_of(file: Any) -> int:
    if isinstance(file, int):
        return file
    try:
        flush, fileno = file.flush, file.fileno
    except AttributeError:
        raise TypeError from None
    flush()
    return one_of(int)(fileno())  # type: ignore[no-any-return]


def start_trace(size: int = 0) -> None:
    """Records from now on what each thread does with queues, in a ring of its last records.

    A record takes about 10 ns, and there are three for a plain operation; nothing is recorded
    before.  ``size`` is how many bytes all threads have together, by default 16 MiB.  The first
    call takes them, and they are not given back.  Does nothing if it is on.  Starting again forgets
    what was recorded before it was stopped.

    :raises ValueError: ``size`` is negative, or more than a terabyte.
    :raises MemoryError: there is no memory.
    """
    what = "0 to 2**40 bytes"
    lib.inturn_trace_start(checked("inturn", "size", size, what, whole(0, 2**40 + 1)))


def stop_trace() -> None:
    """Stops recording.  What was recorded can still be written."""
    lib.inturn_trace_stop()


def write_trace(file: Any) -> None:
    """Writes what was recorded to a path, a descriptor, or a file that has one.

    Perfetto (ui.perfetto.dev) and Chrome (chrome://tracing) open it: a track for each queue and
    each thread, with arrows from an enqueue to the start, from there to the end, and from an end to
    what it let start.  See ``inturn_trace_write`` in ``inturn.h`` for what a ring loses.

    :raises TypeError: the file is none.
    :raises ValueError: the file has no descriptor.
    :raises InvalidArgumentError: it cannot be written there.
    """
    _write(file, lib.inturn_trace_write)
