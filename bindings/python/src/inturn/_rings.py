"""Waits for turns that could never come, as who waits holds them up: they are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple, Union

from ._errors import DeadlockError

if TYPE_CHECKING:
    from ._asyncio_actor import Actor
    from ._asyncio_turns import Turn
    from ._queues import Queue

    Holder = Union[Turn, Actor]


class _Need(NamedTuple):
    """What must happen before a wait is over: so many of these holders never go on."""

    holders: list[Holder]
    places: int


# Of who goes on only when the wait is over that is asked about: always.
_NEVER = _Need([], 0)


def _need(queue: Queue, awaited: Holder | None) -> _Need:
    """Of a wait for a turn that runs, or, where there is none, that the queue is to start."""
    if awaited is not None:
        return _Need([awaited], 1)
    return _Need([holder for holder in list(queue._holders) if holder._is_in_place], queue._places)


def refuse(queue: Queue, awaited: Holder | None, waits: Callable[[Holder], bool]) -> None:
    """Refuses a wait for a turn that runs, or that the queue is to start.

    The holders that ``waits`` names go on only when the wait is over.

    :raises DeadlockError: it can never end.
    """
    first = _need(queue, awaited)
    needs: dict[Holder, _Need] = {}
    open = list(first.holders)
    while open:
        holder = open.pop()
        following = holder._awaited
        if holder in needs:
            continue
        if waits(holder):
            needs[holder] = _NEVER
        elif following is not None:
            needs[holder] = _need(following._queue, following if following._token else None)
            open += needs[holder].holders
    # Whoever could go on, for all we know, is taken away, until that frees nobody else.
    stuck = set(needs)

    def is_over(need: _Need) -> bool:
        return sum(holder in stuck for holder in need.holders) < need.places

    while free := [holder for holder in stuck if is_over(needs[holder])]:
        stuck.difference_update(free)
    if is_over(first):
        return
    path = _path(first, needs, stuck)
    ring = " -> ".join(repr(holder._queue.label or "") for holder in (path[-1], *path))
    error = DeadlockError(f"the wait for a turn would never end: {ring}")
    error.ring = ring
    raise error


def _path(first: _Need, needs: dict[Holder, _Need], stuck: set[Holder]) -> list[Holder]:
    """A way from the wait to one who makes it."""
    paths = [[holder] for holder in first.holders if holder in stuck]
    seen: set[Holder] = set()
    for path in paths:
        if needs[path[-1]] is _NEVER:
            return path
        for holder in needs[path[-1]].holders:
            if holder in stuck and holder not in seen:
                seen.add(holder)
                paths.append([*path, holder])
    return paths[0]  # others wait round a ring, and this one would for them
