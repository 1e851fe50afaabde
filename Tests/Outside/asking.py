"""What the program says of operations and queues that are asked for, by label, by number or all."""

from __future__ import annotations

import re
import resource

from bench import Bench
from reading import whys_of_both


def test_the_chain_leads_to_what_an_operation_has_joined(bench: Bench) -> None:
    with bench.of_sort("joined", INTURN_SOCKET="socket") as it:
        why = whys_of_both(bench, it.pid)["joiner"]
        assert re.findall(r'"(\w+)" \(', why) == ["joiner", "leader"], why


def test_nothing_is_made_up_of_operations_that_follow_each_other(bench: Bench) -> None:
    with bench.of_sort("following") as it:
        for _ in range(500):
            assert "waits for others" not in bench.answer("why", it.pid)


def test_as_long_as_a_label_is_it_can_be_asked_for(bench: Bench) -> None:
    with bench.of_sort("labels", INTURN_SOCKET="socket") as it:
        for label, name in (
            ("x" * 80, "the long one"),
            ("x" * 63, "the long one"),
            ("two\nlines", "those"),
            ("two lines", "those"),
            ("0x12345", "the number"),
        ):
            for may_read in (True, False):
                why = bench.answer("why", it.pid, label, may_read=may_read)
                assert why.startswith(f'"in {name}" '), why
            assert bench.answer("holders", it.pid, label).startswith(f'"in {name}" ')
        for label in ("x" * 62, "x" * 62 + "y", "two", "two lines more", "y"):
            said = bench.refusal("why", it.pid, label)
            assert said.startswith("no queue and no operation has the label "), said
        for command in ("why", "holders"):
            assert bench.refusal(command, it.pid, "0x1234") == "there is no such operation"


def test_what_has_no_label_is_shown_by_its_line_or_its_number(bench: Bench) -> None:
    with bench.of_sort("labels", INTURN_SOCKET="socket") as it:
        read, own = (
            re.findall(
                r'^"(0x\w+)" \[.*, label="([^"]*)"',
                bench.answer("dump", it.pid, "dot", may_read=may),
                re.MULTILINE,
            )
            for may in (True, False)
        )
        assert read == own
        assert all(label for _, label in read), read
        shown = dict(read)
        unnamed = [label for number, label in shown.items() if label == number]
        assert len(unnamed) == 1, shown
        assert any(re.fullmatch(r".*process\.c:\d+", label) for label in shown.values()), shown
        # As the page has it.
        assert "`${entry.file}:${entry.line}` : entry.id" in bench.answer("dump", it.pid, "html")


def test_a_why_does_not_look_at_all_that_there_is(bench: Bench) -> None:
    with bench.of_sort("numerous") as it:
        costs = []
        for words in (["dump"], ["why", "one of many"]):
            command, *more = words
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            said = bench.answer(command, it.pid, *more)
            costs.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
            assert said.count("\n") >= 40_000
        # It reads as much, and writes twice as much.
        assert costs[1] < 8 * costs[0], costs
