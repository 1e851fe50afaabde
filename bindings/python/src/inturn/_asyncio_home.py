"""What the library has of an asyncio loop: an executor, which the loop's thread drains."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import threading
import weakref
from asyncio import _get_running_loop
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable

from . import _executors
from ._asyncio_turns import inside
from ._awaits import begin, here
from ._callbacks import borrowed, entries, start_anywhere
from ._errors import DeadlockError, Error
from ._executors import Executor, give_back_at_exit, once
from ._interrupts import ask_for_room, let_call
from ._library import must, prepared, quick, raise_interrupt

if TYPE_CHECKING:
    from types import FrameType

    from ._asyncio_actor import Actor
    from ._asyncio_turns import Turn
    from ._queues import Queue
    from ._sites import Site

# How many calls a loop makes for its queues before it does something else.
_CALLS = 32
# How often it looks whether it awaits what can never be, where a factory makes its tasks.
_LOOK_SECONDS = 0.05

# Where Python's frames are less than this part of the recursion limit, that is far away: calls in C
# count as well, but there are not so many.
_SHALLOW = 4

# Executors of loops that have gone. They are used again, since a queue that had one keeps it.
_spare_executors: list[Executor] = []


class _Reader:
    """What a loop calls when its executor has something; a loop that closes lets go of it."""

    __slots__ = ("_home",)

    def __init__(self, home: Home) -> None:
        self._home = home

    def __call__(self) -> None:
        self._home.drain()

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._home.close()


class Home:
    """What the library has of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.reference = weakref.ref(loop)
        self.thread: object = None  # the mark of that which runs it, or has run it last
        try:
            self.executor = _spare_executors.pop()
        except IndexError:
            self.executor = Executor("asyncio")
        self.prepared = prepared(self.executor._handle.bits)
        # The turns of the loop's tasks that are not over, by what others wait for: the task
        # that is run in the turn, or the future of a block that waits for its turn.
        # Other threads add to it, so it is copied before it is looked through.
        self.turns: dict[object, Turn | Actor] = {}
        # Whether `create_task` does as asyncio's does: it makes a task.
        uvloop = sys.modules.get("uvloop", asyncio.BaseEventLoop)
        plain = asyncio.BaseEventLoop.create_task, getattr(uvloop, "Loop", uvloop).create_task
        self.makes_plain_tasks = type(loop).create_task in plain
        self.closed = False
        self._unopened = [True]  # popped by the one who has the loop drain it
        self._is_looking = False
        self._lock = threading.RLock()  # protects _queues; a finaliser may come while it is held
        # Those that have this executor, by their handles: a subclass may say what is equal.
        self._queues: weakref.WeakValueDictionary[int, Queue] = weakref.WeakValueDictionary()
        self.is_draining = False  # by its thread, while there is a loop
        # What the library gives: a key and a token.
        self._given = (ctypes.c_uint64 * 2)()
        self._given_at = prepared(ctypes.byref(self._given))

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        """Calls it on the loop's thread, as long as there is a loop."""
        loop = self.reference()
        if loop is not None:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(function, *arguments)

    def look_later(self) -> None:
        """Looks now and again, while turns are waited for, whether one never can come."""
        loop = self.reference()
        if not self._is_looking and loop is not None:
            self._is_looking = True
            loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._is_looking = False
        awaits = []  # meanwhile no task goes on
        for turn in list(self.turns.values()):
            awaited = turn._awaited
            if awaited is not None and turn._token:
                try:
                    awaits.append(begin(awaited._bits, [turn._token]))
                except DeadlockError as error:
                    awaited._refuse(error)
        for begun in awaits:
            begun.end()
        if any(not turn._token for turn in list(self.turns.values())):
            self.look_later()

    def is_here(self) -> bool:
        """Whether the caller is on the loop's thread: that which runs it, or has run it."""
        loop = self.reference()
        if loop is not None and loop.is_running():
            return _get_running_loop() is loop
        return self.thread is here.mark

    def is_gone(self) -> bool:
        loop = self.reference()
        return self.closed or loop is None or loop.is_closed()

    def stands_still(self) -> bool:
        loop = self.reference()
        return loop is None or not loop.is_running()

    def open(self) -> None:
        """On the loop's thread: drains from now on, until the loop closes."""
        self.thread = here.mark
        if self._unopened:
            with suppress(IndexError):
                self._unopened.pop()
                self._open(_Reader(self))

    def open_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """The same from any thread, when the loop runs. One that closes before lets go of it, too.

        :raises RuntimeError: the loop is closed.
        """
        with suppress(IndexError):
            self._unopened.pop()
            loop.call_soon_threadsafe(self._open, _Reader(self))
        if loop.is_closed():
            raise RuntimeError("Event loop is closed")

    def _open(self, reader: _Reader) -> None:
        self.thread = here.mark
        loop = self.reference()
        if loop is not None:
            loop.add_reader(self.executor.fileno(), reader)

    def close(self) -> None:
        """The loop goes: its queues go on without it."""
        if self.closed:
            return
        ask_for_room()  # else it is closed when a queue has left it
        self.closed = True
        loop = self.reference()
        if loop is not None:
            _homes.pop(loop, None)
            if not loop.is_closed():
                loop.remove_reader(self.executor.fileno())
        self.leave()
        entered = [turn for turns in list(inside.values()) for turn in turns if turn._home is self]
        for turn in [*self.turns.values(), *entered]:
            turn._close()
        _spare_executors.append(self.executor)

    def leave(self) -> None:
        """On the loop's thread: lets its queues go on without it, and calls what it was given."""
        ask_for_room()
        with self._lock:
            queues, self._queues = self._queues, weakref.WeakValueDictionary()
        for queue in queues.values():
            if queue._home is self:
                with suppress(Error):  # it was destroyed
                    queue._leave_home()
        self.drain(0)

    def let_go(self) -> None:
        """A queue has left it: what it was given before must not wait for a loop that stands still.

        On any thread; if the loop begins to run meanwhile, one of the two finds the other there.
        """
        if self.is_gone():
            self.close()
        elif self.stands_still():
            self.drain(0)

    def take_over(self, queue: Queue) -> None:
        """The queue's turns come to this loop's thread from now on."""
        if _executors.exiting:
            _executors.refuse_at_exit(queue._pool)
        if queue._home is self or not queue._is_movable or self.closed:
            return
        with self._lock:
            self._queues[queue._handle.bits] = queue
        # First, so that the loop's end brings it back whatever interrupts the rest.
        last, queue._home = queue._home, self
        try:
            must(quick.queue_set_executor, queue._prepared, self.prepared)
            queue._home = self  # again: another thread may have brought it back just before
        except Error:
            queue._home = last
            raise
        if last is not None:
            last.let_go()

    def add(self, queue: Queue, entry: object, caller: FrameType, structure: Any = None) -> int:
        """Enqueues an entry, from any thread, and returns the operation's handle."""
        if self.stands_still():  # what is ahead of it need not wait until the loop runs
            queue._prepare()
        elif queue._home is not self or _executors.exiting:
            self.take_over(queue)
        return queue._add(start_anywhere, entry, structure, queue._site_of(caller))

    def enqueue(self, queue: Queue, turn: Turn, caller: FrameType) -> int:
        """On the loop's thread: enqueues a turn, which may come at once; returns the handle, or
        zero where it has come."""
        if queue._home is not self or _executors.exiting:
            self.take_over(queue)
        may_come = not self.is_draining and len(queue._holders) < queue._places
        taker = self if may_come and not (entries and _is_deep()) else None
        return queue._add(start_anywhere, turn, None, queue._site_of(caller), taker)

    def enqueue_and_take(self, site: Site, *arguments: Any) -> int:
        """On the loop's thread: what `Queue._add` calls for a turn that may come at once."""
        call = quick.executor_enqueue_and_take
        return self._take(call, site, self.prepared, *arguments, self._given_at)

    def drain(self, calls: int = _CALLS) -> None:
        """Lets the library call what waits, which grants turns: on the loop's thread, or on any
        while the loop stands still."""
        if self.is_draining:
            return
        ask_for_room()
        begun = {get_ident()} - borrowed  # none inside another loop's drain
        try:
            self.is_draining = not self.closed
            borrowed.update(begun)
            let_call(quick.executor_drain, self.prepared, calls, None)
        finally:
            self.is_draining = False  # first, as nothing can keep this from being done
            borrowed.difference_update(begun)
        raise_interrupt()

    def advance(self, token: int, may_be_deep: bool) -> None:
        """On the loop's thread: finishes an operation, and lets the next have its turn."""
        if (
            self.is_draining
            or (may_be_deep and entries and _is_deep())
            or self._take(quick.executor_take, self.prepared, start_anywhere, token, self._given_at)
        ):
            quick.token_finish(token)

    def _take(self, call: Callable[..., int], *arguments: Any) -> int:
        """Makes a call that takes what has started, which has its turn then; returns the status."""
        given = self._given  # has an old key and is in no table, where the call refuses
        thread = get_ident()
        try:
            self.is_draining = True
            borrowed.add(thread)
            status = call(*arguments)
            token = given[1]
            if token and (key := given[0]) in entries:
                entries[key]._start(token)
                del entries[key]
        except BaseException:  # what interrupts that
            if given[0] in entries:
                try:
                    entries.pop(given[0])._start(given[1])
                except BaseException:  # there is no room for it: nobody would end it
                    quick.token_cancel(given[1])
                    raise
            raise
        finally:
            self.is_draining = False  # first, as nothing can keep this from being done
            borrowed.discard(thread)
        return status


def _is_deep() -> bool:
    """Whether the recursion limit is near. What waits is called later then, from the loop: here it
    might take a token, and get no further."""
    try:
        sys._getframe(sys.getrecursionlimit() // _SHALLOW)
    except ValueError:  # there are not as many
        return False
    try:
        ask_for_room()
    except RecursionError:
        return True
    return False


_homes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Home] = weakref.WeakKeyDictionary()


def homes() -> list[Home]:
    """Those of all loops.

    No lock could keep the table as it is meanwhile, as a finaliser closes a home. So it is copied
    in one call that runs nothing else.
    """
    loops = [loop for each in _homes.keyrefs() if (loop := each()) is not None]
    return [home for home in map(_homes.get, loops) if home is not None]


def homes_here() -> list[Home]:
    """Those of the loops that run on the calling thread, or have run there last."""
    return [home for home in homes() if home.is_here()]


def leave_loops() -> None:
    """The calling thread is about to wait: what needs none of its loops goes on meanwhile.

    That is also what a loop's executor was given before its queue left it, such as the function
    that comes next or an event, and what a queue of the loop does that the wait depends on.
    """
    for home in homes_here():
        home.leave()


def tokens_of_thread() -> list[int]:
    """The tokens of the turns that go on only on the calling thread."""
    here = homes_here()
    turns = [turn for home in here for turn in list(home.turns.values())]
    turns += [turn for entered in list(inside.values()) for turn in entered if turn._home in here]
    return [turn._token for turn in turns if turn._token and turn._is_in_place]


def home_here() -> Home:
    """The running loop's."""
    home = home_of(asyncio.get_running_loop())
    home.open()
    return home


def home_of(loop: asyncio.AbstractEventLoop) -> Home:
    """A loop's, from any thread."""
    return once(_homes, loop, lambda: Home(loop))


def _leave_stopped_loops() -> None:
    """The interpreter exits, and nobody is left to run them."""
    for home in homes():
        loop = home.reference()
        if loop is not None and not loop.is_running():
            home.close()


give_back_at_exit.append(_leave_stopped_loops)


def _forget_homes() -> None:
    """In a forked child: loops and executors are the parent's."""
    for home in list(_homes.values()):
        home.closed = True
    _homes.clear()
    _spare_executors.clear()


os.register_at_fork(after_in_child=_forget_homes)
