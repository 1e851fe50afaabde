"""The queues' part of asyncio: coroutines that run in turn.

A turn is an operation like any other. When it starts, the library calls ``_start``, which hands the
turn to its loop; there a *driver*, a task, runs the coroutine and ends the operation. While a loop
uses a queue, the queue's executor is the loop's own, which the loop's thread drains: so a turn goes
to the next coroutine without another thread. Functions that come up there are handed on to the
pool, and an enqueue from elsewhere gives the queue back to the pool.
"""

from __future__ import annotations

import asyncio
from asyncio import _get_running_loop, get_running_loop
from contextvars import copy_context
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable

from . import _executors
from ._asyncio_home import find_home, has_home, home_here, home_of, open_home
from ._asyncio_rings import refuse
from ._asyncio_turns import Hold, Run, ThreadRun, Turn, held, turns_of_caller
from ._callbacks import drop, entries, give_back, new_key, start_anywhere, take_out
from ._errors import UnsupportedError
from ._library import quick, refusal

if TYPE_CHECKING:
    from ._queues import Queue


def _enqueue(queue: Queue, turn: Turn) -> int:
    """Enqueues a turn, and returns the operation's handle."""
    home = turn._home
    if _executors.exiting:
        _executors.refuse_at_exit(queue._pool)
    if queue._home is not home and queue._is_movable:
        home.take_over(queue)
    out = take_out()
    key = new_key()
    entries[key] = turn
    status = quick.queue_enqueue(queue._bits, start_anywhere, key, drop, out[1])
    if status:
        turn._is_granted = True
        raise refusal("inturn_queue_enqueue", status)
    operation = out[0].value or 0
    give_back(out)
    return operation


def run(queue: Queue, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """`Queue.run`."""
    if not callable(function):
        raise TypeError(f"not callable: {function!r}")
    loop = get_running_loop()
    home = queue._home
    if home is None or home.reference() is not loop or home.thread != get_ident():
        home = home_here()
    if queue._is_actor:
        from ._asyncio_actor import act

        return act(queue, home, function, arguments, keywords)
    turn = Run(loop=loop)
    turn._queue = queue
    turn._home = home
    turn._function = function
    turn._arguments = arguments
    # Nothing is kept that the collector would have to look at with each of many turns.
    turn._keywords = keywords or None
    turn._context = copy_context() or None
    turn._driver = None
    turn._operation = turn._token = 0
    turn._hold_operation(_enqueue(queue, turn))
    if not home.drivers:
        home.drain()
    return turn


def run_on(
    queue: Queue,
    loop: asyncio.AbstractEventLoop,
    function: Callable[..., Any],
    arguments: Any,
    keywords: Any,
) -> ThreadRun:
    """`Queue.run_on`."""
    if not callable(function):
        raise TypeError(f"not callable: {function!r}")
    if queue._is_actor:
        raise UnsupportedError("an actor queue's coroutines are run by their own loop: use run")
    home = home_here() if _get_running_loop() is loop else find_home(loop)
    if home is None:
        loop.call_soon_threadsafe(open_home, home_of(loop))
        home = home_of(loop)
    elif loop.is_closed():
        raise RuntimeError("Event loop is closed")
    turn = ThreadRun(queue, None, None, None)
    turn._prepare_call(queue, home, function, arguments, keywords)
    turn._handle = _enqueue(queue, turn)
    return turn


async def enter(queue: Queue) -> None:
    """``async with queue`` begins."""
    task = asyncio.current_task()
    assert task is not None
    home = home_here()
    hold = Hold(queue, home)
    callers = hold._refuse_ring()
    hold._hold_operation(_enqueue(queue, hold))
    home.drain()
    for caller in callers:
        caller._awaited = hold
    try:
        await hold
    except BaseException:
        hold._end_turn(quick.token_cancel)
        home.drain()
        raise
    finally:
        for caller in callers:
            caller._awaited = None
    held.setdefault(task, []).append(hold)


def leave(queue: Queue, error: BaseException | None) -> None:
    """``async with queue`` ends."""
    task = asyncio.current_task()
    assert task is not None
    holds = held[task]
    hold = next(hold for hold in reversed(holds) if hold._queue is queue)
    holds.remove(hold)
    if error is None:
        hold._end_turn(quick.token_finish)
    elif isinstance(error, asyncio.CancelledError):
        hold._end_turn(quick.token_cancel)
    else:
        hold._end_turn(quick.token_fail, 1)
    hold._home.drain()


def look(queue: Queue, is_pending: Callable[[], bool] | None) -> Callable[[], None] | None:
    """`Queue._look`."""
    thread = get_ident()
    if not has_home(thread):
        return None
    if queue._home is not None and queue._home.thread == thread:
        queue._leave_home()  # so that what needs no loop goes on meanwhile

    def look_now() -> None:
        """While this thread waits, no turn of its loops goes on, whoever has it."""
        if is_pending is None:
            for holder in list(queue._holders):
                if holder._home.thread == thread:
                    refuse(queue, holder, lambda _: True)
        elif is_pending():
            refuse(queue, None, lambda holder: holder._home.thread == thread)

    return look_now


def refuse_await(queue: Queue, awaited: object) -> None:
    """`Queue._refuse_await`."""
    callers = turns_of_caller() if _get_running_loop() is not None else []
    if callers and awaited not in callers:
        refuse(queue, None, callers.__contains__)
