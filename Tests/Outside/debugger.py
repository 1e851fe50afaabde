"""What gdb's commands say about a process, and about its core file."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from bench import Bench


def gdb(bench: Bench, target: list[object], *commands: str) -> str:
    script = bench.prefix / "share" / "inturn" / "inturn-gdb.py"
    given = [word for command in commands for word in ("-ex", command)]
    _, said, complaint = bench.run("gdb", "-nx", "-batch", *target, "-x", script, *given)
    return said + complaint


def queues(said: str) -> str:
    """The lines without the executors: an idle pool's threads end."""
    return "".join(re.findall(r"^ *(?:queue|operation|after|name) .*\n", said, re.MULTILINE))


def test_gdb_says_what_queues_do_and_what_keeps_them(bench: Bench) -> None:
    with bench.process() as it:
        live: list[object] = ["-p", it.pid]
        said = gdb(bench, live, "inturn queues", "inturn why save", "inturn why none")
        assert "queues 3, pending 1, running 2\n" in said
        row = re.search(
            r"^network +1 +1 +- +[\d.]+ m?s +call +load \(stuck\.c:", said, re.MULTILINE
        )
        assert row, said
        why = (
            r'"save" \(.*\) of queue "network" waits for "load" \(.*: running for [\d.]+ m?s '
            r"on thread \d+, its call has not returned\."
        )
        assert re.search(why, said), said
        assert "inturn: no queue and no operation has the label none\n" in said
        # All of it is the same as without gdb.
        read = queues(bench.answer("dump", it.pid))
        assert read.count("operation") == 3
        assert read == queues(gdb(bench, live, "inturn dump"))


def test_gdb_says_how_its_commands_are_called(bench: Bench) -> None:
    said = gdb(bench, [], "inturn why a b", "inturn queues 1")
    assert said.endswith(
        "inturn: that is too much: What keeps an operation from ending: inturn why [ID | LABEL]\n"
        "inturn: that is too much: A table of the queues: inturn queues\n"
    ), said


def test_gdb_reads_a_core_file(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as folder, bench.of_sort("still") as it:
        core = Path(folder) / "core"
        gdb(bench, ["-p", it.pid], f"generate-core-file {core}")
        read = queues(bench.answer("dump", it.pid))
        it.kill()
        it.wait()
        said = gdb(bench, [bench.several, core], "inturn dump", "inturn queues", "inturn why token")
        assert read.count("operation") > 25
        assert read == queues(said)
        assert "queues 21, pending 67, running 9\n" in said
        # The time of the core is not known.
        assert re.search(r"^holds the pool +0 +1 +- +- +call +process\.c:\d+$", said, re.MULTILINE)
        assert "its call has returned, its token has not been finished. 1 waits" in said


def test_gdb_reads_each_copy_of_the_library(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(bench.prefix / "lib" / "libinturn.so", folder)
        with bench.of_sort(copy) as it:
            live: list[object] = ["-p", it.pid]
            first, second, third = (f"set $inturn_copy = {number}" for number in (1, 2, 3))
            unasked = gdb(bench, live, "inturn dump")
            assert (
                "inturn: it uses 2 copies of the library; this is of the first: "
                "set $inturn_copy = 2 is for the second\n"
            ) in unasked
            both = [gdb(bench, live, choice, "inturn dump") for choice in (first, second)]
            assert queues(unasked) == queues(both[0])
            labels = [re.findall('^queue "(.*)"', each, re.MULTILINE) for each in both]
            assert sorted(labels) == [["of the copy"], ["of the library"]]
            assert not any("copies" in each for each in both)
            said = gdb(bench, live, third, "inturn dump")
            assert "inturn: it uses 2 copies of the library\n" in said


def test_gdb_says_that_there_is_no_library(bench: Bench) -> None:
    said = gdb(bench, [], "inturn queues")
    assert "inturn: it has not loaded libinturn, or none that can be read\n" in said
    said = gdb(bench, ["-p", os.getpid()], "inturn dump")
    assert "inturn: it has not loaded libinturn" in said
