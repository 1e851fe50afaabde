"""What the library notices, and who is told."""

from __future__ import annotations

import warnings
from typing import Callable

import pytest

import inturn
from support import LIMIT, Gate, finish

Outcome = inturn.Outcome


def test_a_stall_is_reported() -> None:
    reports: list[inturn.Report] = []
    told = Gate("the report")

    def tell(report: inturn.Report) -> None:
        reports.append(report)
        told.open()

    inturn.set_report_handler(tell)
    try:
        with inturn.ManualClock() as clock, inturn.FIFOQueue("slow", clock=clock) as queue:
            queue.suspend()
            queue.options(label="stuck", stall=3).enqueue(finish)
            clock.advance(3)
            told.wait()
            queue.resume()
            queue.drain(LIMIT)
            queue.destroy()
    finally:
        inturn.set_report_handler(None)
    assert reports[0].kind is inturn.ReportKind.STALL
    assert (reports[0].queue_label, reports[0].operation_label) == ("slow", "stuck")


def test_a_stall_is_written_to_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with inturn.ManualClock() as clock, inturn.FIFOQueue("slow", clock=clock) as queue:
        queue.suspend()
        queue.options(label="stuck", stall=3).enqueue(finish)
        clock.advance(3)
        queue.resume()
        queue.drain(LIMIT)
        queue.destroy()
    assert "stuck" in capsys.readouterr().err


def test_a_lost_token_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with inturn.FIFOQueue() as queue:
            assert queue.enqueue(lambda token: None).wait(LIMIT).outcome is Outcome.ABANDONED
    assert len(caught) == 1
    assert capfd.readouterr() == ("", "")


def test_what_stands_still_is_reported() -> None:
    told = Gate("the report")
    open_it: Callable[[], object] = told.open
    inturn.set_report_handler(lambda report: report.queue_label == "stands" and open_it())
    try:
        inturn.set_stall_limit(0.05)
        with inturn.FIFOQueue("stands") as queue:
            tokens: list[inturn.Token] = []
            queue.enqueue(tokens.append)
            queue.enqueue(finish)
            told.wait()
            tokens.pop().finish()
        with pytest.raises(ValueError, match="seconds of 'inturn' is to be a time"):
            inturn.set_stall_limit(-1)
    finally:
        inturn.set_stall_limit(0)
        inturn.set_report_handler(None)
