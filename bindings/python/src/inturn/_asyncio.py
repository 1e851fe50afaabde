"""The queues' part of asyncio: coroutines that run in turn.

A coroutine is a task of the loop's own, and an operation like any other: its first step waits for
its turn, and its end ends the operation. A loop's factory makes the task as it makes all others;
where there is none, the task is a `Run`, which knows its turn. While a loop uses a queue,
the queue's executor is the loop's own, which the loop's thread drains: so a turn goes to the next
task without another thread. Functions that come up there are handed on to the pool, and an enqueue
from elsewhere gives the queue back to the pool.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import _get_running_loop, current_task, get_running_loop
from ctypes import byref, c_int
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable

from ._asyncio_actor import act
from ._asyncio_attempts import AttemptsTurn, in_turns
from ._asyncio_home import home_here, home_of, homes_here, leave_loops, tokens_of_thread
from ._asyncio_runs import Run, ThreadRun, in_turn, run_by_factory
from ._asyncio_turns import Turn, closing, inside, tokens_in
from ._awaits import awaiting, begin, here
from ._ends import State
from ._errors import UnsupportedError
from ._library import quick

if TYPE_CHECKING:
    from ._awaits import Await
    from ._enqueuing import Enqueuing
    from ._queues import Queue

make_task: Callable[..., None] = asyncio.Task.__init__


def run(
    face: Enqueuing, function: Callable[..., Any], arguments: Any, keywords: Any
) -> asyncio.Task[Any]:
    """`Queue.run`."""
    queue, caller = face._queue, sys._getframe(2)
    loop = get_running_loop()
    home = queue._home
    if home is None or home.reference() is not loop or home.thread is not here.mark:
        home = home_here()
    if queue._is_actor:
        return act(face, home, function, arguments, keywords)
    if face._given or not home.makes_plain_tasks or loop.get_task_factory() is not None:
        waiting = AttemptsTurn(face, home) if face._given else Turn(queue, home)
        try:
            waiting._enqueue(caller)
            body = in_turns if face._given else in_turn
            return run_by_factory(loop, waiting, body, function, arguments, keywords)
        except BaseException as error:
            waiting._end(error)
            raise
    turn = Run.__new__(Run)
    turn._queue = queue
    turn._home = home
    turn._waiter = None
    turn._is_over = False
    turn._token = 0
    turn._steps = None
    turn._operation = 0
    try:
        turn._operation = home.enqueue(queue, turn, caller)
        home.turns[turn] = turn
        make_task(turn, in_turn(turn, function, arguments, keywords), loop=loop)
        if queue._is_cut:  # perhaps a moment ago
            turn._heed()
        created: Any = turn
        if created._source_traceback:  # in debug mode; it is to end with the caller's line
            del created._source_traceback[-2:]
    except BaseException as error:
        turn._end(error)
        raise
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
        raise queue._refused_function(function)
    if queue._is_actor:
        raise UnsupportedError("coroutines of an actor queue run in their own loop: use run")
    home = home_here() if _get_running_loop() is loop else home_of(loop)
    home.open_later(loop)
    future = ThreadRun(queue, home, function, arguments, keywords)
    future._handle = home.add(queue, future, sys._getframe(2))
    return future


async def enter(queue: Queue) -> Queue:
    """``async with queue`` begins."""
    loop = get_running_loop()
    home = queue._home
    if home is None or home.reference() is not loop or home.thread is not here.mark:
        home = home_here()
    turn = Turn(queue, home)
    turn._is_block = True
    turn._task = task = current_task(loop)
    try:
        turn._operation = home.enqueue(queue, turn, sys._getframe(1))
        quick.report_set_awaited(turn._bits)  # by who is in the block, too
        if not turn._token:
            with awaiting(turn._operation):
                waiter = turn._wait()
                turn._keep(waiter)
                await waiter
        inside.setdefault(task, []).append(turn)
        if turn._is_over:  # since a moment ago: its loop has closed
            turn._lose()
    except BaseException as error:
        turn._end(error)
        raise
    return queue


def leave(queue: Queue, error: BaseException | None) -> None:
    """``async with queue`` ends, whichever task has entered it."""
    loop = _get_running_loop()
    task = closing.get(get_ident()) if closing else None
    if task is None and loop is not None:
        task = current_task(loop)
    for turn in reversed(inside.get(task, ())):  # the last one that it has entered
        if turn._queue is queue and turn._end(error):
            return
    for holder in list(queue._holders):
        if isinstance(holder, Turn) and holder._is_block and holder._end(error):
            return
    if not isinstance(error, GeneratorExit):
        raise RuntimeError(f"no task is inside {queue!r}")


def tokens_here() -> list[int]:
    """`_awaits.tokens_here`."""
    loop = _get_running_loop()
    task = None if loop is None else current_task(loop)
    return [] if task is None else tokens_in(home_of(task.get_loop()), task)


def look(queue: Queue, awaited: Callable[[], int | None]) -> Callable[[], Await] | None:
    """`Queue._look`."""
    home = queue._home
    if home is not None and home.stands_still():
        queue._leave_home()  # what waits for no task of that loop goes on
    if not homes_here():
        return None
    leave_loops()  # also before a wait without time, which only asks

    def look_now() -> Await:
        """While this thread waits, no turn of its loops goes on, whoever has it."""
        leave_loops()  # to which another thread may have brought a queue since
        tokens = tokens_of_thread()
        bits = awaited()
        wait = begin(bits, tokens)
        if wait.bits and queue._is_actor:
            # Nothing of the queue starts during a segment, which a thread of the pool is inside of.
            state = c_int(State.PENDING)  # also what waits for all of it
            quick.operation_get_state(bits, byref(state))
            has_begun = state.value != State.PENDING
            for holder in list(queue._holders):
                if holder._is_in_place and (holder._home.is_here() or not has_begun):
                    wait.end()
                    wait = begin(holder._token, tokens)
        return wait

    return look_now
