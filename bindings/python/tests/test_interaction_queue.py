"""Interaction queues, on the main executor."""

from __future__ import annotations

import select
import threading
import time
from functools import partial
from typing import Callable

import pytest

import inturn
from support import LIMIT, each, finish, join


def test_interactions_come_one_at_a_time_on_the_main_thread() -> None:
    trace: list[str] = []
    threads: list[threading.Thread] = []
    with inturn.InteractionQueue(settle=0, gap=0) as queue:

        def show(name: str, token: inturn.Token) -> None:
            assert threading.current_thread() is threading.main_thread()
            trace.append(f"show {name}")
            threads.append(threading.Thread(target=token.finish))  # the user answers
            threads[-1].start()

        def note_end(end: inturn.End) -> None:
            trace.append(f"end {end.label}")

        for name in "abc":
            queue.options(label=name, on_end=note_end).enqueue(partial(show, name))
        queue.options(on_end=lambda end: inturn.stop_main()).enqueue(finish)
        queue.view_did_appear()
        inturn.run_main()
    join(*threads)
    assert trace == [f"{what} {name}" for name in "abc" for what in ("show", "end")]


def test_nothing_is_shown_before_the_view_has_appeared_or_after_it_has_gone() -> None:
    shown: list[int] = []
    main = inturn.Executor.main()

    def show(number: int, token: inturn.Token) -> None:
        shown.append(number)
        if number == 2:
            queue.view_will_disappear()
        token.finish()

    with inturn.InteractionQueue(settle=0, gap=0) as queue:
        for number in range(1, 5):
            queue.enqueue(partial(show, number))
        # Given a view that is not visible
        main.drain()
        assert shown == []
        # When it appears, and disappears while the second is shown
        queue.view_did_appear()
        until(lambda: len(shown) == 2)
        main.drain()
        assert shown == [1, 2]
        # Then the rest waits for it to appear again
        queue.view_did_appear()
        until(lambda: len(shown) == 4)
    assert shown == [1, 2, 3, 4]


def test_the_view_settles_before_the_first_interaction_and_a_gap_parts_them() -> None:
    shown: list[float] = []
    answered: list[float] = []
    tokens: list[inturn.Token] = []
    with inturn.InteractionQueue(settle=0.05, gap=0.03) as queue:
        for _ in range(3):
            queue.enqueue(each(lambda _: shown.append(time.monotonic()), tokens.append))
        appeared = time.monotonic()
        queue.view_did_appear()
        for _ in range(3):
            until(lambda: bool(tokens))
            answered.append(time.monotonic())
            tokens.pop().finish()
    assert shown[0] - appeared >= 0.05
    assert shown[1] - answered[0] >= 0.03
    assert shown[2] - answered[1] >= 0.03


def test_an_interaction_that_has_nothing_to_show_costs_no_gap() -> None:
    ended: list[str] = []
    with inturn.InteractionQueue(settle=0, gap=2 * LIMIT) as queue:
        for name in ("granted", "granted too", "last"):
            queue.options(label=name, on_end=lambda end: ended.append(str(end.label))).enqueue(
                finish
            )
        queue.view_did_appear()
        until(lambda: len(ended) == 3)
    assert ended == ["granted", "granted too", "last"]


def test_an_open_interaction_that_is_cancelled_gives_in() -> None:
    ends: list[inturn.End] = []
    tokens: list[inturn.Token] = []

    def show(token: inturn.Token) -> None:
        tokens.append(token)
        token.on_cancel(inturn.Token.cancel)
        assert operation.cancel()  # requested while the work is being called

    with inturn.InteractionQueue(settle=0, gap=0) as queue:
        operation = queue.options(on_end=ends.append).enqueue(show)
        queue.options(on_end=ends.append).enqueue(finish)
        queue.view_did_appear()
        until(lambda: len(ends) == 2)
    assert [end.outcome.name for end in ends] == ["CANCELLED", "FINISHED"]


def test_a_queue_that_is_left_cancels_what_has_not_been_shown() -> None:
    ends: list[inturn.End] = []
    with inturn.InteractionQueue() as queue:
        queue.options(on_end=ends.append).enqueue(finish)
    assert [end.outcome.name for end in ends] == ["CANCELLED"]


def test_a_stop_before_the_run_is_not_forgotten() -> None:
    inturn.stop_main()
    inturn.run_main()


def test_a_stop_from_another_thread_ends_the_run() -> None:
    thread = threading.Thread(target=inturn.stop_main)
    thread.start()
    inturn.run_main()
    join(thread)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_inside_work_is_raised_by_run_main_and_fails_the_operation(
    stop: type[BaseException],
) -> None:
    def show(token: inturn.Token) -> None:
        raise stop

    with inturn.InteractionQueue(settle=0, gap=0) as queue:
        operation = queue.enqueue(show)
        queue.view_did_appear()
        with pytest.raises(stop):
            inturn.run_main()
        assert isinstance(operation.wait(LIMIT).exception, stop)


def until(condition: Callable[[], bool]) -> None:
    """Drains the main executor when work is waiting there, until the condition holds."""
    executor = inturn.Executor.main()
    while not condition():
        waiting, _, _ = select.select([executor], [], [], LIMIT)
        assert waiting, f"waited {LIMIT} s for work on the main executor"
        executor.drain()
