"""Interactions on a manual clock: when each is presented, and how it ends."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import warnings
from functools import partial
from typing import Any

import pytest

import inturn
from support import LIMIT, Gate, join

Cause = inturn.Cause
Kind = inturn.EventKind
Outcome = inturn.Outcome


class Stage:
    """An interaction queue with the usual delays, whose time the test advances."""

    def __init__(self, *, visible: bool = True, capacity: int = 0) -> None:
        self.clock = inturn.ManualClock()
        self.executor = inturn.Executor()
        self.log: list[str] = []
        self.told: list[inturn.Event] = []
        self.tokens: dict[str, inturn.Token] = {}
        self.queue = inturn.InteractionQueue(
            executor=self.executor,
            clock=self.clock,
            capacity=capacity,
            on_event=self.told.append,
        )
        if visible:
            self.queue.view_did_appear()
            self.advance(0.5)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.queue.destroy()
        self.executor.drain()
        self.executor.close()
        self.clock.close()

    def show(self, name: str, **options: Any) -> inturn.Operation:
        """Adds an interaction that is logged, and stays until its token is used."""
        return self.queue.options(label=name, **options).enqueue(partial(self._present, name))

    def _present(self, name: str, token: inturn.Token) -> None:
        self.log.append(name)
        self.tokens[name] = token

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.executor.drain()

    def finish(self, name: str, result: object = None) -> None:
        self.tokens.pop(name).finish(result)
        self.executor.drain()

    def noted(self) -> list[str]:
        """What was presented since the last call."""
        noted, self.log = self.log, []
        return noted


def ended(operation: inturn.Operation) -> tuple[Outcome, Cause]:
    """How an operation that must have ended by now ended."""
    return operation.wait(0)[:2]


# When ------------------------------------------------------------------------------------------


def test_the_first_waits_half_a_second_and_each_later_one_for_the_gap() -> None:
    with Stage(visible=False) as stage:
        stage.show("first")
        stage.show("second")
        stage.advance(10)
        stage.queue.view_did_appear()
        stage.advance(0.499)
        assert stage.noted() == []
        stage.advance(0.001)
        assert stage.noted() == ["first"]
        stage.advance(10)
        stage.finish("first")
        stage.advance(0.249)
        assert stage.noted() == []
        stage.advance(0.001)
        assert stage.noted() == ["second"]
        stage.finish("second")


def test_a_timer_of_an_earlier_appearance_does_not_resume_the_queue_early() -> None:
    with Stage(visible=False) as stage:
        stage.show("shown")
        stage.queue.view_did_appear()
        stage.advance(0.4)
        stage.queue.view_will_disappear()
        stage.queue.view_did_appear()
        stage.advance(0.499)
        assert stage.noted() == []
        stage.advance(0.001)
        assert stage.noted() == ["shown"]
        stage.finish("shown")


def test_nothing_is_presented_over_a_view_that_has_disappeared_during_the_gap() -> None:
    with Stage() as stage:
        stage.show("first")
        stage.show("second")
        stage.executor.drain()
        stage.finish("first")
        stage.advance(0.2)
        stage.queue.view_will_disappear()
        stage.advance(10)
        assert stage.noted() == ["first"]
        stage.queue.view_did_appear()
        stage.advance(0.5)
        assert stage.noted() == ["second"]
        stage.finish("second")


def test_one_whose_condition_hides_the_view_is_presented_when_that_is_back() -> None:
    asked: list[int] = []

    def ask() -> bool:
        asked.append(1)
        if len(asked) == 1:
            stage.queue.view_will_disappear()
        return True

    with Stage() as stage:
        shown = stage.show("shown", condition=ask)
        stage.show("behind")
        stage.advance(10)
        assert (stage.noted(), len(asked), shown.state) == ([], 1, inturn.State.PENDING)
        stage.queue.view_did_appear()
        stage.advance(0.5)
        assert (stage.noted(), len(asked)) == (["shown"], 2)
        stage.finish("shown", "yes")
        assert (shown.wait(0).result, shown.wait(0).attempts) == ("yes", 1)
        stage.queue.destroy()
    assert [event.kind for event in stage.told if event.operation == 1] == [
        Kind.ENQUEUED,
        Kind.STARTED,
        Kind.RESTARTING,
        Kind.STARTED,
        Kind.ENDED,
    ]


def test_higher_priorities_come_first_and_equal_ones_in_order() -> None:
    with Stage() as stage:
        stage.queue.suspend()
        for number, priority in enumerate([0, 2, -1, 2, 0]):
            stage.show(str(number), priority=priority)
        stage.queue.resume()
        for _ in range(5):
            stage.advance(0.25)
            stage.finish(stage.log[-1])
        assert stage.noted() == ["1", "3", "0", "4", "2"]


def test_an_urgent_one_may_take_the_place_of_the_running_one_which_comes_again() -> None:
    with Stage() as stage:
        form = stage.show("form")
        stage.executor.drain()
        stage.tokens["form"].on_preempt(inturn.Token.yield_)
        stage.show("high", priority=9)
        stage.show("urgent", urgent=True)
        stage.executor.drain()
        stage.advance(0.25)
        assert stage.noted() == ["form", "urgent"]
        stage.finish("urgent")
        stage.advance(0.25)
        assert stage.noted() == ["form"]
        stage.finish("form")
        assert (ended(form), form.wait(0).attempts) == ((Outcome.FINISHED, Cause.NONE), 2)
        stage.advance(0.25)
        assert stage.noted() == ["high"]
        stage.finish("high")


def test_the_view_and_each_reason_hold_the_queue_by_themselves() -> None:
    with Stage() as stage:
        for reason in ("call", "call", "backup"):
            stage.queue.suspend(reason)
        stage.queue.view_will_disappear()
        stage.show("shown")
        stage.queue.resume("backup")
        stage.queue.resume("call")
        stage.queue.view_did_appear()
        stage.advance(10)
        assert stage.noted() == []
        with pytest.raises(inturn.NotSuspendedError):
            stage.queue.resume("backup")
        stage.queue.resume("call")
        stage.executor.drain()
        assert stage.noted() == ["shown"]
        stage.finish("shown")


# How they end ----------------------------------------------------------------------------------


def test_a_handle_says_the_state_cancels_and_gives_the_end_and_the_result() -> None:
    with Stage() as stage:
        running = stage.show("running")
        pending = stage.show("pending")
        stage.executor.drain()
        assert (running.state, pending.state) == (inturn.State.RUNNING, inturn.State.PENDING)
        assert pending.cancel()
        assert running.cancel()
        stage.executor.drain()
        assert ended(pending) == (Outcome.CANCELLED, Cause.REQUEST)
        # It was only asked to end, and decides itself.
        assert stage.tokens["running"].cancelled
        assert running.state is inturn.State.RUNNING
        stage.finish("running", 42)
        assert (ended(running), running.wait(0).result) == ((Outcome.FINISHED, Cause.NONE), 42)
        assert not running.cancel()
        assert stage.noted() == ["running"]


def test_one_that_is_skipped_or_given_up_costs_no_gap() -> None:
    granted: list[str] = []
    with Stage() as stage:
        stage.show("running")
        skipped = stage.show("skipped", condition=lambda: not granted)
        hopeless = stage.show("hopeless", condition=lambda: inturn.Verdict.GIVE_UP)
        stage.show("last")
        stage.executor.drain()
        granted.append("meanwhile")
        stage.finish("running")
        stage.advance(0.25)
        assert ended(skipped) == (Outcome.FINISHED, Cause.SKIPPED)
        assert ended(hopeless) == (Outcome.CANCELLED, Cause.CONDITION)
        assert stage.noted() == ["running", "last"]
        stage.finish("last")


def test_a_condition_that_raises_fails_its_interaction_without_a_gap() -> None:
    with Stage() as stage:
        raising = stage.show("raising", condition=lambda: bool(1 // 0))
        stage.show("next")
        stage.executor.drain()
        assert isinstance(raising.wait(0).exception, ZeroDivisionError)
        assert stage.noted() == ["next"]
        stage.finish("next")


def test_a_condition_that_blocks_is_reported_and_cut_off() -> None:
    reports: list[inturn.Report] = []

    def block() -> bool:
        stage.clock.advance(5)
        assert [report.kind for report in reports] == [inturn.ReportKind.STALL]
        stage.clock.advance(5)
        return True

    inturn.set_report_handler(reports.append)
    try:
        with Stage() as stage:
            blocking = stage.show("blocking", condition=block, stall=5, max_run=10)
            stage.show("next")
            stage.executor.drain()
            assert ended(blocking) == (Outcome.TIMED_OUT, Cause.MAX_RUN)
            stage.advance(0.25)
            assert stage.noted() == ["next"]
            stage.finish("next")
    finally:
        inturn.set_report_handler(None)
    assert reports[0].operation_label == "blocking"


def test_those_of_one_key_are_presented_once_and_end_together() -> None:
    with Stage() as stage:
        down = [stage.show(name, key="down", join=True) for name in "abc"]
        stage.executor.drain()
        down.append(stage.show("d", key="down", join=True))
        stage.finish("a", "seen")
        assert stage.noted() == ["a"]
        assert [operation.wait(0).result for operation in down] == ["seen"] * 4
        assert [operation.wait(0).cause for operation in down] == [Cause.NONE] + [Cause.JOINED] * 3
        # The next one is presented: there is nobody to join.
        stage.show("e", key="down", join=True)
        stage.advance(0.25)
        assert stage.noted() == ["e"]
        stage.finish("e")


def test_resolving_a_key_answers_all_that_is_pending_of_it() -> None:
    with Stage() as stage:
        running = stage.show("running", key="microphone")
        stage.executor.drain()
        pending = [stage.show(name, key="microphone") for name in "ab"]
        other = stage.show("other", key="camera")
        assert (stage.queue.resolve("microphone"), stage.queue.resolve("microphone")) == (2, 0)
        stage.executor.drain()
        assert {ended(each) for each in pending} == {(Outcome.FINISHED, Cause.RESOLVED)}
        assert running.state is inturn.State.RUNNING
        assert stage.queue.cancel("camera") == 1
        assert ended(other) == (Outcome.CANCELLED, Cause.REQUEST)
        stage.finish("running")
        stage.advance(1)
        assert stage.noted() == ["running"]


def test_an_owner_that_dies_while_presenting_takes_its_interactions_along() -> None:
    with Stage() as stage:
        owner = inturn.Owner(capacity=2)
        running = stage.show("running", owner=owner)
        pending = stage.show("pending", owner=owner)
        next_one = stage.show("next")
        with pytest.raises(inturn.FullError):
            stage.show("one too many", owner=owner)
        stage.executor.drain()
        stage.tokens["running"].on_cancel(inturn.Token.cancel)
        owner.close()
        stage.executor.drain()
        for operation in (running, pending):
            assert ended(operation) == (Outcome.CANCELLED, Cause.OWNER)
        stage.advance(0.25)
        assert stage.noted() == ["running", "next"]
        stage.finish("next")
        assert ended(next_one) == (Outcome.FINISHED, Cause.NONE)


def test_one_is_on_screen_no_longer_than_it_may_be_and_reported_before() -> None:
    reports: list[inturn.Report] = []
    inturn.set_report_handler(reports.append)
    try:
        with Stage() as stage:
            late = stage.show("late", max_run=10, stall=5, free_at_max_run=True)
            stage.show("next")
            stage.executor.drain()
            stage.advance(5)
            assert [(report.kind, report.operation_label) for report in reports] == [
                (inturn.ReportKind.STALL, "late")
            ]
            stage.advance(5)
            assert ended(late) == (Outcome.TIMED_OUT, Cause.MAX_RUN)
            with pytest.raises(inturn.AlreadyFinishedError):
                stage.tokens["late"].finish()
            stage.advance(0.25)
            assert stage.noted() == ["late", "next"]
            stage.finish("next")
    finally:
        inturn.set_report_handler(None)


def test_events_say_what_was_added_presented_suppressed_and_ended() -> None:
    with Stage() as stage:
        stage.show("a", key="k", join=True)
        stage.show("b", key="k", join=True)
        stage.show("c", condition=lambda: False)
        stage.executor.drain()
        stage.finish("a")
        stage.advance(0.25)
    assert [(event.kind.name, event.label) for event in stage.told] == [
        ("ENQUEUED", "a"),
        ("JOINED", "b"),
        ("ENQUEUED", "c"),
        ("STARTED", "a"),
        ("ENDED", "a"),
        ("ENDED", "b"),
        ("STARTED", "c"),
        ("ENDED", "c"),
        ("IDLE", None),
    ]
    assert [event.cause for event in stage.told if event.kind is Kind.ENDED] == [
        Cause.NONE,
        Cause.JOINED,
        Cause.SKIPPED,
    ]


# Mishaps ---------------------------------------------------------------------------------------


def test_a_lost_token_abandons_its_interaction_and_the_queue_goes_on() -> None:
    with warnings.catch_warnings(record=True) as caught, Stage() as stage:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        lost = stage.queue.options(label="lost").enqueue(lambda token: None)
        stage.show("next")
        stage.executor.drain()
        gc.collect()
        assert ended(lost)[0] is Outcome.ABANDONED
        stage.advance(0.25)
        assert stage.noted() == ["next"]
        stage.finish("next")
    assert [(each.category, each.lineno) for each in caught] == [(RuntimeWarning, line)]


def test_a_second_finish_raises_and_leaves_the_next_one_alone() -> None:
    with Stage() as stage:
        stage.show("first")
        second = stage.show("second")
        stage.executor.drain()
        token = stage.tokens["first"]
        stage.finish("first")
        stage.advance(0.25)
        with pytest.raises(inturn.AlreadyFinishedError):
            token.finish()
        assert second.state is inturn.State.RUNNING
        stage.finish("second")


def test_a_finish_after_the_queue_is_gone_raises() -> None:
    with Stage() as stage:
        shown = stage.show("shown")
        stage.executor.drain()
        token = stage.tokens.pop("shown")
        stage.queue.destroy()
        assert ended(shown) == (Outcome.CANCELLED, Cause.DESTROYED)
        with pytest.raises(inturn.AlreadyFinishedError):
            token.finish()


def test_adding_after_the_close_raises_and_what_was_accepted_goes_on() -> None:
    with Stage(capacity=1) as stage:
        stage.show("first")
        with pytest.raises(inturn.FullError):
            stage.show("refused")
        stage.queue.close()
        with pytest.raises(inturn.ClosedError):
            stage.show("refused")
        stage.executor.drain()
        assert stage.noted() == ["first"]
        stage.finish("first")


def test_work_that_raises_fails_its_interaction_and_the_queue_goes_on() -> None:
    with Stage() as stage:
        raising = stage.queue.enqueue(lambda token: 1 // 0)
        stage.show("next")
        stage.executor.drain()
        assert isinstance(raising.wait(0).exception, ZeroDivisionError)
        stage.advance(0.25)
        assert stage.noted() == ["next"]
        stage.finish("next")


def test_a_signal_handler_finishes_an_interaction() -> None:
    with Stage() as stage:
        shown = stage.show("shown")
        stage.executor.drain()
        before = signal.signal(
            signal.SIGUSR1, lambda *_: stage.tokens.pop("shown").finish("signal")
        )
        try:
            signal.raise_signal(signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert shown.wait(LIMIT).result == "signal"


def test_a_thread_that_serves_signals_finishes_an_interaction() -> None:
    served = Gate("the signal")

    def serve() -> None:
        signal.sigwait({signal.SIGUSR1})
        stage.tokens.pop("shown").finish("signal")
        served.open()

    with Stage() as stage:
        shown = stage.show("shown")
        stage.show("next")
        stage.executor.drain()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        try:
            thread = threading.Thread(target=serve)
            thread.start()
            signal.pthread_kill(thread.ident or 0, signal.SIGUSR1)
            served.wait()
            join(thread)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        assert shown.wait(LIMIT).result == "signal"
        stage.executor.drain()
        stage.advance(0.25)
        assert stage.noted() == ["shown", "next"]
        stage.finish("next")
