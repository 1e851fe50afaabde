"""What the program reads from a process's memory, without running code in the process."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import BinaryIO

from bench import LIMIT, Bench

# The system's clock is told with the present moment.
NOW = re.compile(r"^(clock.* )at_ns=\d+$", re.MULTILINE)
MARK = b"Inturn's engine\0"


def without_times(text: str) -> str:
    return re.sub(r"(for|in|another) [\d.]+ (ms|s|min|h)\b", r"\1 some time", text)


def what_both_tell(bench: Bench, pid: int) -> tuple[str, str]:
    read, own = (bench.answer("dump", pid, may_read=may) for may in (True, False))
    return NOW.sub(r"\1now", read, 1), NOW.sub(r"\1now", own, 1)


def test_what_is_read_is_what_the_process_tells_of_itself(bench: Bench) -> None:
    with bench.of_sort("still", INTURN_SOCKET="socket") as it:
        limit = time.monotonic() + LIMIT
        # A call that was just made may not have returned yet.
        while (both := what_both_tell(bench, it.pid))[0] != both[1]:
            assert time.monotonic() < limit, both
        lines = both[0].splitlines()
        assert len([line for line in lines if line.startswith("queue ")]) == 21
        # At least one of each cause.
        for cause in ("after", "name", "turn", "token", "call", "suspended", "view", "clock"):
            assert f" {cause} id=" in both[0], cause
        assert " executor id=" in both[0]
        assert " pool id=" in both[0]
        assert any('"a pool with a long name" pool ' in line for line in lines)
        kinds = Counter(line.split()[0] for line in lines)
        assert (kinds["clock"], kinds["owner"], kinds["batch"]) == (2, 2, 4)
        batch = r"^batch \"of a batch\" id=(0x\w+) count=2 queue="
        [named] = re.findall(batch, both[0], re.MULTILINE)
        assert both[0].count(f" batch={named}") == 2
        assert re.search(r'^queue "rated" fifo delay .* at_ns=\d+$', both[0], re.MULTILINE)
        # An operation that has ended, and keeps its place, is only mentioned as the cause.
        why = bench.answer("why", it.pid, "behind that")
        assert "it was cut off, and keeps its place until its token is finished" in why
        assert "over time" not in both[0]
        # The words for all causes, and the chains.
        operations = re.findall(r"^  operation .* id=(0x\w+)", both[0], re.MULTILINE)
        assert len(operations) > 25
        queues = re.findall(r"^queue .* id=(0x\w+) .*pending=", both[0], re.MULTILINE)
        assert len(queues) > 10
        for asked in operations + queues:
            read = bench.answer("why", it.pid, asked)
            own = bench.answer("why", it.pid, asked, may_read=False)
            assert without_times(read) == without_times(own)


def test_who_waits_for_what_is_read(bench: Bench) -> None:
    with bench.of_sort("waits", INTURN_SOCKET="socket") as it:
        limit = time.monotonic() + LIMIT
        while (both := what_both_tell(bench, it.pid))[0] != both[1] or both[0].count("wait ") < 5:
            assert time.monotonic() < limit, both
        ids = dict(
            re.findall(r'^ *(?:queue|operation) "(.*?)" .* id=(0x\w+)', both[0], re.MULTILINE)
        )
        waits = re.findall(r"^wait (.*)$", both[0], re.MULTILINE)
        awaited, never = ids["awaited"], ids["never ends"]
        place = r' file=".*process_waits\.c" line=\d+'
        for expected in (
            rf"id=0x\w+ operation={never} other={ids['for an end']}",
            rf"id=0x\w+ queue={awaited} other={ids['for a queue']}",
            rf'"a value with a long name" id=0x\w+ other={ids["told"]}',
            rf"operation={never} other={ids['of tasks']}",
            rf"queue={awaited} other={ids['of tasks']}",
        ):
            assert any(re.fullmatch(expected + place, wait) for wait in waits), (expected, waits)
        dumps = [
            json.loads(bench.answer("dump", it.pid, "json", may_read=may)) for may in (True, False)
        ]
        told = [[entry for entry in dump["entries"] if entry["kind"] == "wait"] for dump in dumps]
        assert (len(told[0]), told[0]) == (5, told[1])
        arrows = [bench.answer("dump", it.pid, "dot", may_read=may) for may in (True, False)]
        assert f'"{ids["for an end"]}" -> "{never}"' in arrows[0]
        assert sorted(arrows[0].splitlines()) == sorted(arrows[1].splitlines())
        for asked in ("for an end", "for a queue", "told"):
            read, own = (bench.answer("why", it.pid, asked, may_read=may) for may in (True, False))
            assert without_times(read) == without_times(own), (read, own)
            leads_on = r' waits \(.*process_waits\.c:\d+\) for "never ends" \(.*: running for '
            assert bool(re.search(leads_on, read)) == (asked != "told"), read


def test_what_comes_after_an_end_that_is_not_told_waits_for_its_executor(bench: Bench) -> None:
    with bench.of_sort("untold", INTURN_SOCKET="socket") as it:
        for may_read in (True, False):
            why = bench.answer("why", it.pid, "item", may_read=may_read)
            cause = 'waits for queue "untold": nobody is draining its executor.'
            assert re.fullmatch(rf'"item" \(.*\) of queue "untold" {cause}\n', why), why


def test_the_chain_leads_past_a_wait_for_what_comes_later(bench: Bench) -> None:
    with bench.of_sort("later", INTURN_SOCKET="socket") as it:
        limit = time.monotonic() + LIMIT
        while "wait id=" not in what_both_tell(bench, it.pid)[0]:
            assert time.monotonic() < limit
        read, own = (bench.answer("why", it.pid, "third", may_read=may) for may in (True, False))
        assert without_times(read) == without_times(own)
        links = [re.sub(r" \(.*", "", link) for link in read.split(" for ")]
        assert links[:4] == ['"third"', '"first"', '"third"', '"second"'], read
        assert "its token has not been finished" in read


def whys_of_both(bench: Bench, pid: int) -> dict[str, str]:
    """Why each queue and operation stands still, by label, which both say in the same words."""
    limit = time.monotonic() + LIMIT
    while True:
        both = what_both_tell(bench, pid)
        told = re.findall(r'^ *(?:queue|operation) "(.*?)" .*?\bid=(0x\w+)', both[0], re.MULTILINE)
        whys = [
            [bench.ask("why", pid, asked, may_read=may)[1:] for _, asked in told]
            for may in (True, False)
        ]
        # A call that was just made may not have returned yet.
        said = [[tuple(map(without_times, why)) for why in each] for each in whys]
        if (both[0], said[0]) == (both[1], said[1]):
            return {label: why for (label, _), (why, _) in zip(told, whys[0], strict=True)}
        assert time.monotonic() < limit, (both, whys)


def test_who_drains_an_executor_is_read(bench: Bench) -> None:
    with bench.of_sort("drained", INTURN_SOCKET="socket") as it:
        whys = whys_of_both(bench, it.pid)
        assert ': nobody is draining its executor "attached".' in whys["paint"]
        cause = ': who drains its executor "drained" is in a call that has not returned.'
        assert cause in whys["draw"]
        dump = bench.answer("dump", it.pid)
        assert re.search(r'^executor "drained" .* count=\d+ running=2$', dump, re.MULTILINE), dump
        assert re.search(r'^executor "attached" id=\w+ count=\d+$', dump, re.MULTILINE), dump


def test_the_chain_leads_along_the_edges_of_a_batch(bench: Bench) -> None:
    with bench.of_sort("edges", INTURN_SOCKET="socket") as it:
        read, own = (bench.answer("why", it.pid, "begun", may_read=may) for may in (True, False))
        assert without_times(read) == without_times(own)
        # From inside, the name also leads on, past what comes between.
        for whys, cause in ((read, "begun"), (bench.answer("why", it.pid, "named"), "shoots")):
            chains = [re.findall(r'"(\w+)" \(', why) for why in whys.splitlines()]
            assert all(chain[-1] == cause for chain in chains), whys
            lengths = sorted(chain.count(chains[0][0]) for chain in chains)
            assert lengths == [1, 2, 3, 3], whys
            assert whys.count("its token has not been finished") == 4


def test_queues_in_which_nothing_is_pending_say_why(bench: Bench) -> None:
    with bench.of_sort("ends", INTURN_SOCKET="socket") as it:
        whys = whys_of_both(bench, it.pid)
        assert whys["told"] == 'queue "told": a callback of it has not returned.\n'
        assert whys["batch"] == 'queue "batch": a callback of it has not returned.\n'
        assert "it has ended, its call or the destroy callback of" in whys["in a call"]
        assert whys["not told"] == 'queue "not told": nobody is draining its executor.\n'
        assert whys["idle"] == ""
        read, own = (bench.answer("why", it.pid, may_read=may) for may in (True, False))
        assert without_times(read) == without_times(own)
        assert read.count("\n") == 4


def test_a_queue_that_is_destroyed_is_told_until_nothing_goes_on_in_it(bench: Bench) -> None:
    with bench.of_sort("destroyed") as it:
        limit = time.monotonic() + LIMIT
        while "wait id=" not in (dump := bench.answer("dump", it.pid)):
            assert time.monotonic() < limit
        [asked] = re.findall(r'^queue "cache" closed .* id=(0x\w+)', dump, re.MULTILINE)
        assert re.search(rf"^wait id=\w+ queue={asked}", dump, re.MULTILINE), dump
        for words in ((), (asked,), ("cache",)):
            why = bench.answer("why", it.pid, *words)
            cause = "it has ended, its call or the destroy callback of its context has not returned"
            assert re.fullmatch(rf'"evict" \(.*\) of queue "cache": .*, {cause}\.\n', why), why


def test_a_queue_answers_for_plain_operations(bench: Bench) -> None:
    # They have no ids.
    with bench.of_sort("plain", INTURN_SOCKET="socket") as it:
        for words in ([], ["plain"]):
            for may_read in (True, False):
                why = bench.answer("why", it.pid, *words, may_read=may_read)
                cause = r"it is suspended \(.*process\.c:\d+\), and has been for [\d.]+ m?s"
                assert re.fullmatch(rf'queue "plain": {cause}\. 3 wait in it\.\n', why), why


def test_each_format_is_read(bench: Bench) -> None:
    with bench.of_sort("still", INTURN_SOCKET="socket") as it:
        read, own = (
            json.loads(bench.answer("dump", it.pid, "json", may_read=may)) for may in (True, False)
        )
        assert read.keys() == own.keys()
        labels = [entry["label"] for entry in read["entries"] if "label" in entry]
        assert labels == [entry["label"] for entry in own["entries"] if "label" in entry]
        assert 'plain "<\n>"' in labels
        arrows = [
            sorted(
                re.findall(r"^\"0x.* -> .*", bench.answer("dump", it.pid, "dot", may_read=may), 8)
            )
            for may in (True, False)
        ]
        assert len(arrows[0]) > 20
        assert arrows[0] == arrows[1]
        html = bench.answer("dump", it.pid, "html")
        assert html.startswith("<!DOCTYPE html>")
        assert html.endswith("</html>\n")


def test_odd_texts_are_written_so_that_all_can_read_them(bench: Bench) -> None:
    with bench.of_sort("odd", INTURN_SOCKET="socket") as it:
        for may_read in (True, False):
            for words in (("dump",), ("dump", "dot"), ("why",), ("top",)):
                command, *more = words
                said = bench.answer(command, it.pid, *more, may_read=may_read)
                assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", said), (words, said)
                assert " 31m red" in said or command == "why"
            text = bench.answer("dump", it.pid, may_read=may_read)
            assert ' file="caf\ufffd \\"< .c" line=7' in text, text
            dump = json.loads(bench.answer("dump", it.pid, "json", may_read=may_read))
            [queue] = [each for each in dump["entries"] if each["kind"] == "queue"]
            [operation] = [each for each in dump["entries"] if each["kind"] == "operation"]
            assert queue["label"] == "\x9b31m red"
            assert operation["file"] == 'caf\ufffd "<\x1b.c'


def test_each_copy_of_the_library_is_read(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(bench.prefix / "lib" / "libinturn.so", folder)
        with bench.of_sort(copy) as it:
            assert re.search(rf"^ *{it.pid} .* \(and 1 more\) ", bench.answer("ps"), re.MULTILINE)
            status, said, complaint = bench.ask("dump", it.pid)
            assert status == 0
            assert complaint == (
                f"inturn: process {it.pid} uses 2 copies of the library; this is of the first: "
                f"{it.pid}.2 is the second\n"
            )
            both = [said, bench.answer("dump", f"{it.pid}.2")]
            assert NOW.sub("", said) == NOW.sub("", bench.answer("dump", f"{it.pid}.1"))
            labels = [re.findall('^queue "(.*)"', each, re.MULTILINE) for each in both]
            assert sorted(labels) == [["of the copy"], ["of the library"]]
            refusal = bench.refusal("dump", f"{it.pid}.3")
            assert refusal == f"process {it.pid} uses 2 copies of the library"


def test_a_process_that_is_stopped_is_read(bench: Bench) -> None:
    with bench.of_sort("still") as it:
        it.send_signal(signal.SIGSTOP)
        os.waitpid(it.pid, os.WUNTRACED)
        assert '"has its names" running token ' in bench.answer("dump", it.pid)
        assert "its view has not appeared" in bench.answer("why", it.pid, "dialog")
        rows = bench.answer("top", it.pid).splitlines()
        assert rows[0] == f"process, process {it.pid}: queues 21, pending 67, running 9"


def test_a_hundred_thousand_pending_operations_are_read(bench: Bench) -> None:
    with bench.of_sort("many") as it:
        head, *operations = bench.answer("dump", it.pid).splitlines()[3:]
        assert " pending=100000 running=1 " in head
        labels = [line.split('"')[1] for line in operations]
        assert labels == ["first", *(f"number {i}" for i in range(100_000))]
        last = re.findall(r" id=(0x\w+)", operations[-1])[0]
        why = bench.answer("why", it.pid, last)
        assert "99999 more wait in its queue." in why


def test_memory_is_read_by_pages_and_only_as_far_as_needed(bench: Bench) -> None:
    with bench.of_sort("many") as it:
        last = bench.answer("dump", it.pid).splitlines()[-1]
        assert '"number 99999"' in last
        [asked] = re.findall(r" id=(0x\w+)", last)
        reads, _ = bench.reads("dump", it.pid)
        assert reads < 100_000 / 2, reads
        # The first thousand of a list are enough for these.
        few = 2_000
        for words in (["top"], ["why"], ["why", asked]):
            command, *more = words
            reads, _ = bench.reads(command, it.pid, *more)
            assert reads < few, (words, reads)
        assert " 100000 " in bench.answer("top", it.pid)


def test_operations_that_are_deep_in_lists_are_found(bench: Bench) -> None:
    with bench.of_sort("deep") as it:
        dump = bench.answer("dump", it.pid)
        [asked] = re.findall(r'operation "last 3" .* id=(0x\w+)', dump)
        briefly = bench.answer("why", it.pid, asked)
        # With a label, all is read.
        assert without_times(briefly) == without_times(bench.answer("why", it.pid, "last 3"))
        names = re.findall(r'"([^"]*)" \(', briefly)
        assert names == ["last 3", "last 2", "last 1", "first"], briefly
        gone = hex(int(asked, 16) + 1)
        assert bench.refusal("why", it.pid, gone) == "there is no such operation"


def check_plausible(said: str, ended: dict[str, int]) -> int:
    """Checks a dump; returns the number of operations. `ended`: at least so many have, by queue."""
    listed = pending = operations = 0
    for line in said.splitlines():
        numbers = {key: int(number) for key, number in re.findall(r" (\w+)=(-?\d+)\b(?!x)", line)}
        if queue := re.match(r"queue (\S+) ", line):
            name = queue[1]
            assert name in ('"fast"', '"wide"', '"brief"'), line
            assert numbers.get("running", 0) <= (64 if name == '"wide"' else 1), line
            pending, listed = numbers.get("pending", 0), 0
            assert pending < 6000, line
            so_far = numbers.get("ended", 0)
            if name == '"brief"':
                assert pending + so_far <= 11, line
            else:
                assert so_far >= ended.get(name, 0), (line, ended)
                ended[name] = so_far
        elif line.startswith("  operation "):
            operations += 1
            assert re.match(r'  operation (("named" )?(cancelled )?)(pending|running) ', line), line
            if " pending " in line:
                listed += numbers["count"]
                assert listed <= pending, (line, listed, pending)
    return operations


def test_a_process_at_full_speed_is_read_a_thousand_times(bench: Bench) -> None:
    with bench.of_sort("busy") as it:
        ended: dict[str, int] = {}
        operations = 0
        for _ in range(1000):
            operations += check_plausible(bench.answer("dump", it.pid), ended)
        # It has not stood still, and was caught at work.
        assert ended.keys() == {'"fast"', '"wide"'}
        assert min(ended.values()) > 1000
        assert operations > 100


def address_of_mark(pid: int) -> int:
    maps = Path(f"/proc/{pid}/maps").read_text()
    found = re.search(r"^(\w+)-(\w+) rw-p .*/libinturn\.so", maps, re.MULTILINE)
    assert found
    begin, end = (int(number, 16) for number in found.groups())
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        memory.seek(begin)
        return begin + memory.read(end - begin).index(MARK)


def test_another_layout_is_refused(bench: Bench) -> None:
    with bench.process() as it, bench.process(INTURN_SOCKET="socket") as other:
        for pid in (it.pid, other.pid):
            with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
                memory.seek(address_of_mark(pid) + len(MARK))
                memory.write((77).to_bytes(4, sys.byteorder))
        said = bench.refusal("dump", it.pid)
        assert "in another way (77) than this program knows (" in said, said
        assert said.endswith("use the program `inturn` that came with it")
        # It answers by itself.
        assert '\nqueue "network" ' in bench.answer("dump", other.pid)


def overwrite(bench: Bench, pid: int, memory: BinaryIO, begin: int, words: int, *also: int) -> None:
    """Puts wrong words in each one's place, one after the other, and has all read each time."""
    for place, word in enumerate(read_words(memory, begin, words)):
        for wrong in (2**64 - 1, begin, begin + 64, word ^ 0x5A5A5A5A, *also):
            memory.seek(begin + 8 * place)
            memory.write(wrong.to_bytes(8, sys.byteorder))
            status, _, complaint = bench.ask("dump", pid)
            assert (status, complaint) == (0, ""), (place, wrong)
        memory.seek(begin + 8 * place)
        memory.write(word.to_bytes(8, sys.byteorder))


def read_words(memory: BinaryIO, address: int, count: int) -> list[int]:
    memory.seek(address)
    content = memory.read(8 * count)
    return [int.from_bytes(content[i : i + 8], sys.byteorder) for i in range(0, len(content), 8)]


def test_whatever_is_in_the_memory_the_reader_ends(bench: Bench) -> None:
    """Bytes of the engine's memory are overwritten with what a program may leave there."""
    for sort in ("still", "waits"):
        with bench.of_sort(sort) as it:
            it.send_signal(signal.SIGSTOP)
            os.waitpid(it.pid, os.WUNTRACED)
            mark = address_of_mark(it.pid)
            with Path(f"/proc/{it.pid}/mem").open("r+b", buffering=0) as memory:

                def pointer(address: int) -> int:
                    return read_words(memory, address, 1)[0]

                engine = pointer(mark + len(MARK) + 8)
                if sort == "still":
                    # The two slabs' first segments: lanes of 64 bytes, and slots of 128.
                    slots, lanes = (pointer(pointer(engine + 8 * i)) for i in (2, 5))
                    overwrite(bench, it.pid, memory, lanes, 8 * 16, slots + 8)
                    overwrite(bench, it.pid, memory, slots, 16 * 20, slots + 8)
                    continue
                # Those of threads, in an array, and of tasks, in an array of lists.
                waits = pointer(engine + 8 * 9)
                overwrite(bench, it.pid, memory, waits, 7)
                threads, tasks = read_words(memory, waits + 32, 2)
                overwrite(bench, it.pid, memory, threads, 7, tasks)
                overwrite(bench, it.pid, memory, pointer(threads + 32), 13, tasks)
                lines = read_words(memory, tasks + 32, 256)
                of_task = next(line for line in lines if line)
                overwrite(bench, it.pid, memory, of_task, 6, of_task)
                overwrite(bench, it.pid, memory, pointer(of_task + 24), 13, of_task)


def test_a_forked_child_is_read(bench: Bench) -> None:
    command = [str(bench.several), "fork"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        lines = {it.stdout.readline().strip() for _ in range(2)}
        child = int((lines - {"ready"}).pop())
        try:
            assert 'queue "of the child" ' in bench.answer("dump", child)
            why = bench.answer("why", child, "work")
            cause = r" on thread \d+ \(inturn-worker\), its call has not returned"
            assert re.search(cause, why), why
            parent = bench.answer("dump", it.pid)
            assert 'queue "of the parent" ' in parent
            assert "child" not in parent
        finally:
            os.kill(child, signal.SIGKILL)
            it.kill()


def test_a_python_process_is_read(bench: Bench) -> None:
    settings = bench.of_python()
    script = (
        "import inturn, threading\n"
        "queue, called = inturn.FIFOQueue('of Python'), threading.Event()\n"
        "load = lambda token: called.set() or threading.Event().wait()\n"
        "queue.options(label='load').enqueue(load)\n"
        "queue.options(label='save').enqueue(inturn.Token.finish)\n"
        "called.wait()\n"
        "print('ready', flush=True)\n"
        "threading.Event().wait()\n"
    )
    with bench.started([sys.executable, "-c", script], **settings) as it:
        module = [sys.executable, "-m", "inturn"]
        status, said, complaint = bench.run(*module, "why", it.pid, "save", **settings)
        assert (status, complaint) == (0, "")
        assert '"load" (' in said
        assert "its call has not returned" in said
        status, said, complaint = bench.run(*module, "top", it.pid, **settings)
        assert (status, complaint) == (0, "")
        assert "\nof Python " in said
