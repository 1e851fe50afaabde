"""What the library notices, and who is told of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

import inturn
from support import LIMIT, SOURCES, Gate, finish, run_python

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


def test_a_handler_may_be_false() -> None:
    class Reports(list[inturn.Report]):  # as it is while it is empty
        def __call__(self, report: inturn.Report) -> None:
            self.append(report)

    reports = Reports()
    inturn.set_report_handler(reports)
    try:
        with inturn.FIFOQueue("own") as queue:
            refused = queue.submit(lambda: queue.submit(int).result(LIMIT))
            assert isinstance(refused.exception(LIMIT), inturn.DeadlockError)
    finally:
        inturn.set_report_handler(None)
    assert [report.kind for report in reports] == [inturn.ReportKind.DEADLOCK]


def test_a_stall_is_written_to_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with inturn.ManualClock() as clock, inturn.FIFOQueue("slow", clock=clock) as queue:
        queue.suspend()
        queue.options(label="stuck", stall=3).enqueue(finish)
        clock.advance(3)
        queue.resume()
        queue.drain(LIMIT)
        queue.destroy()
    assert capsys.readouterr().err.startswith("inturn: ")


def test_what_keeps_an_operation_is_told_to_who_asks() -> None:
    with inturn.FIFOQueue("network") as network, inturn.OperationQueue("database") as database:
        tokens: list[inturn.Token] = []
        login = network.options(label="login").enqueue(tokens.append)
        load = network.options(label="load").enqueue(finish)
        save = database.options(label="save", after=[load]).submit(lambda: None)
        while not tokens:
            assert inturn.why(login)
        report = inturn.why(save)
        assert report is not None
        assert report.kind is inturn.ReportKind.STALL
        assert tuple(link[:4] for link in report.chain) == (
            (inturn.StallCause.AFTER, "database", "save", True),
            (inturn.StallCause.TURN, "network", "load", True),
            (inturn.StallCause.TOKEN, "network", "login", True),
        )
        at = [f"{link.file}:{link.line}" for link in report.chain]
        assert all(site.startswith(f"{__file__}:") for site in at)
        assert (
            f'"save" ({at[0]}) of queue "database" waits for "load" ({at[1]}) of queue "network"'
            in report.message
        )
        assert (report.queue_label, report.operation_label) == ("network", "login")
        assert (report.stalled_ns, report.waiting) == (0, 0)
        tokens.pop().finish()
        save.result(LIMIT)
        assert inturn.why(login) is None
        assert inturn.why(save) is None


def test_a_lost_token_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with inturn.FIFOQueue() as queue:
            assert queue.enqueue(lambda token: None).wait(LIMIT).outcome is Outcome.ABANDONED
    assert len(caught) == 1
    assert capfd.readouterr() == ("", "")


def test_a_queue_has_a_limit_of_its_own() -> None:
    told = Gate("the report")
    reports: list[inturn.Report] = []

    def tell(report: inturn.Report) -> None:
        reports.append(report)
        told.open()

    inturn.set_report_handler(tell)
    inturn.set_stall_limit(0.05)
    threads: list[int] = []
    go = Gate("the work")

    def block(token: inturn.Token) -> None:
        threads.append(threading.get_native_id())
        go.wait()
        token.finish()

    try:
        with inturn.FIFOQueue("asks", stall=None) as asks, inturn.FIFOQueue("stands") as stands:
            for queue in (asks, stands):
                queue.enqueue(block)
                queue.enqueue(finish)
            told.wait()
            go.open()
        # Whoever looks at the second queue has looked at the first one.
        assert [report.queue_label for report in reports] == ["stands"]
        assert reports[0].chain[-1].thread in threads
        assert f" on thread {reports[0].chain[-1].thread} (" in reports[0].message
    finally:
        inturn.set_stall_limit(0)
        inturn.set_report_handler(None)
    with pytest.raises(ValueError, match=r"stall of .*'never'> must be a time.* or None, not -1"):
        inturn.FIFOQueue("never", stall=-1)


A_TEST = """
import inturn, threading, unittest

class Test(unittest.TestCase):
    def test(self):
        told, reports, tokens = threading.Event(), [], []
        inturn.set_report_handler(lambda report: (reports.append(report), told.set()))
        with inturn.FIFOQueue() as queue:
            queue.enqueue(tokens.append)
            queue.post(int)
            told.wait()
            tokens.pop().finish()
        self.assertLess(reports[0].stalled_ns, 5e9)
"""


def test_a_test_of_unittest_is_told_after_a_second(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(A_TEST)
    others = ("PYTEST_", "INTURN_STALL")
    settings = {name: it for name, it in os.environ.items() if not name.startswith(others)}
    ended = subprocess.run(
        [sys.executable, "-m", "unittest", "test_it"],
        cwd=tmp_path,
        env={**settings, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def test_the_default_handler_says_that_more_is_stuck() -> None:
    program = """
import inturn, sys, threading
inturn.set_stall_limit(None)
told, write = threading.Event(), sys.stderr.write
class Told:
    def write(self, text):
        write(text)
        if "More is stuck" in text:
            told.set()
    def flush(self): pass
sys.stderr = Told()
tokens = []
queues = [inturn.FIFOQueue(daemon=True) for _ in range(16)]
for queue in queues:
    queue.enqueue(tokens.append)
    queue.enqueue(inturn.Token.finish)
inturn.set_stall_limit(0.03)
assert told.wait(30)
for token in tokens:
    token.finish()
"""
    ended = run_python(program)
    assert ended.returncode == 0, ended
    assert re.search(r"\. More is stuck; inturn why \d+ tells all\.\n", ended.stderr), ended.stderr


def test_what_stands_still_is_reported() -> None:
    told = Gate("the report")
    reports: list[inturn.Report] = []

    def tell(report: inturn.Report) -> None:
        reports.append(report)
        if report.queue_label == "stands":
            told.open()

    inturn.set_report_handler(tell)
    try:
        inturn.set_stall_limit(0.05)
        with inturn.FIFOQueue("stands") as queue:
            tokens: list[inturn.Token] = []
            queue.enqueue(tokens.append)
            queue.enqueue(finish)
            told.wait()
            tokens.pop().finish()
        assert [link[:4] for link in reports[-1].chain] == [
            (inturn.StallCause.TOKEN, "stands", None, True)
        ]
        assert (reports[-1].stalled_ns >= 50_000_000, reports[-1].waiting) == (True, 1)
        with pytest.raises(ValueError, match="seconds of 'inturn' must be a time"):
            inturn.set_stall_limit(-1)
    finally:
        inturn.set_stall_limit(0)
        inturn.set_report_handler(None)
