"""Runs the installed program ``inturn`` on processes that are stuck, and on others.

    program.py --prefix DIR [--out DIR]

DIR of --prefix is where the library is installed; that of --out gets the processes' programs. The
last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import re
import select
import signal
import sys
import tempfile
import termios
import time
import traceback
import unicodedata
from pathlib import Path

import asking
import debugger
import holders
import pyte
import reading
from bench import LIMIT, Bench


def test_ps_lists_processes_that_have_the_library(bench: Bench) -> None:
    with bench.process(INTURN_SOCKET="socket.%p") as it, bench.process() as mute:
        lines = {words[0]: words[1:] for words in map(str.split, bench.answer("ps").splitlines())}
        assert lines["PID"] == ["LIBRARY", "SOCKET", "COMMAND"]
        library, socket, *command = lines[str(it.pid)]
        assert re.fullmatch(r"libinturn\.so\.[\d.]+", library)
        assert socket == f"socket.{it.pid}"
        # One line, whatever it contains.
        assert command == [str(bench.stuck), "a", "b"]
        assert lines[str(mute.pid)][1] == "-"
        assert str(os.getpid()) not in lines


def test_dump_writes_each_format(bench: Bench) -> None:
    with bench.process() as it:
        assert '\nqueue "network" fifo turn ' in bench.answer("dump", it.pid)
        assert bench.answer("dump", it.pid, "dot").startswith("digraph inturn {")
        assert bench.answer("dump", it.pid, "html").endswith("</html>\n")
        entries = json.loads(bench.answer("dump", it.pid, "json"))["entries"]
        labels = {entry["label"] for entry in entries if "label" in entry}
        assert labels == {"network", "idle", "disk", "load", "save", "write"}
        assert bench.refusal("dump", it.pid, "xml") == "a dump is text, json, dot or html"
        assert bench.refusal("dump", it.pid, "text\nwhy") == "a dump is text, json, dot or html"


def test_why_says_what_keeps_an_operation(bench: Bench) -> None:
    with bench.process(INTURN_SOCKET="socket") as it:
        of_id = {
            entry.get("label"): entry["id"]
            for entry in json.loads(bench.answer("dump", it.pid, "json"))["entries"]
            if entry["kind"] == "operation"
        }
        save = bench.answer("why", it.pid, of_id["save"])
        assert save.count("\n") == 1
        for part in ('"save" (', '"load" (', "its call has not returned"):
            assert part in save
        # By its label, and by its queue's: each operation that fits.
        assert '"save" (' in bench.answer("why", it.pid, "save")
        assert len(bench.answer("why", it.pid, "network").splitlines()) == 2
        # One of each queue: a pending operation, rather than a running one.
        first, second = bench.answer("why", it.pid).splitlines()
        assert '"save" (' in first
        assert '"write" (' in second
        assert "its token has not been finished" in second
        assert "nothing of that label" in bench.answer("why", it.pid, "idle")
        assert "has the label none" in bench.refusal("why", it.pid, "none")
        assert bench.refusal("why", it.pid, "0x1") == "there is no such operation"


def check_table(lines: list[str]) -> None:
    """Checks the rows, which may have any order."""
    rows = {words[0]: words[1:] for words in map(str.split, lines)}
    pending, running, _rate, oldest, _unit, cause, *holder = rows["network"]
    assert (pending, running, cause) == ("1", "1", "call")
    assert float(oldest) >= 0
    assert re.fullmatch(r"load \(stuck\.c:\d+\), .*", " ".join(holder)), holder
    assert rows["idle"] == ["0", "0", rows["idle"][2], "-", "-"]
    assert rows["disk"][:2] == ["0", "1"]
    assert "token" in rows["disk"]


def test_top_is_written_once_to_a_pipe(bench: Bench) -> None:
    with bench.process(INTURN_SOCKET="socket") as it:
        about, head, *rows = bench.answer("top", it.pid).splitlines()
        assert about == f"stuck, process {it.pid}: queues 3, pending 1, running 2"
        assert head.split()[:3] == ["QUEUE", "PENDING", "RUNNING"]
        assert len(rows) == 3
        check_table(rows)
        # The queue with the most pending operations comes first.
        assert rows[0].startswith("network ")


class Screen:
    """A terminal of 100 columns, in which the program runs, and what a user would see there."""

    def __init__(self, command: list[str], lines: int = 24) -> None:
        self.text = ""
        self.seen = pyte.Screen(100, lines)
        self.stream = pyte.Stream(self.seen)
        pid, self.end = pty.fork()
        if pid == 0:
            termios.tcsetwinsize(0, (lines, 100))
            os.execv(command[0], command)
        self.pid = pid

    def read_until(self, pattern: str) -> re.Match[str]:
        limit = time.monotonic() + LIMIT
        while not (found := re.search(pattern, self.text, re.DOTALL)):
            assert time.monotonic() < limit, (pattern, self.text[-2000:])
            readable, _, _ = select.select([self.end], [], [], 1)
            if readable:
                self.text += os.read(self.end, 65536).decode()
        self.stream.feed(self.text[: found.end()])
        self.text = self.text[found.end() :]
        return found

    def settled(self) -> list[str]:
        """The lines of the screen that are not empty, when the next frame begins."""
        self.read_until("(?=\033\\[H\033\\[J)")
        return [line.rstrip() for line in self.seen.display if line.strip()]

    def is_echoing(self) -> bool:
        return bool(termios.tcgetattr(self.end)[3] & termios.ECHO)

    def frame(self, key: str = "") -> list[str]:
        """The rows of the table that is drawn after a key."""
        os.write(self.end, key.encode())
        self.text = ""
        rows = self.read_until("\033\\[H\033\\[J[^\r]*\r\n[^\r]*\r\n(.*?\r\n)(?=\033)")[1]
        return rows.splitlines()

    def end_status(self) -> int:
        with contextlib.suppress(OSError):  # reads the rest of its output
            while chunk := os.read(self.end, 65536):
                self.text += chunk.decode()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.end)
        return status


def names(rows: list[str]) -> list[str]:
    return [row.split()[0] for row in rows]


def test_top_is_renewed_on_a_terminal_and_sorted_by_keys(bench: Bench) -> None:
    with bench.process(INTURN_SOCKET="socket") as it:
        screen = Screen([str(bench.program), "top", str(it.pid), "0.1"])
        check_table(screen.frame())
        assert names(screen.frame("p"))[0] == "network"
        assert names(screen.frame("n")) == ["disk", "idle", "network"]
        assert names(screen.frame("r")) == ["disk", "network", "idle"]
        rates = [row.split()[3] for row in screen.frame("e")]
        assert rates == ["0", "0", "0"], rates
        assert names(screen.frame("o"))[-1] == "idle"
        os.write(screen.end, b"q")
        assert screen.end_status() == 0
        # The previous screen is back, and the cursor.
        assert screen.text.endswith("\033[?25h\033[?1049l"), screen.text


def test_top_looks_into_a_queue(bench: Bench) -> None:
    with bench.process(INTURN_SOCKET="socket") as it:
        screen = Screen([str(bench.program), "top", str(it.pid), "0.1"])
        screen.frame()
        # Sorted by name: to the first, to the last and beyond it, and back by one.
        os.write(screen.end, b"n" + 4 * b"\033[B" + b"\033[A")
        screen.read_until("\033\\[7midle ")
        os.write(screen.end, b"j")
        screen.read_until("\033\\[7mnetwork ")
        os.write(screen.end, b"\r")
        head, running, pending, why = screen.read_until(
            "(network: [^\r]*)\r\n([^\r]*)\r\n([^\r]*)\r\n\r\n(.*?)\033"
        ).groups()
        assert head.startswith("network: fifo turn, 1 pending, 1 running, 0 ended")
        assert re.match(r"  running call +load +[\d.]+ m?s  stuck\.c:\d+", running), running
        assert re.match(r"  pending turn +save +[\d.]+ m?s  stuck\.c:\d+", pending), pending
        # In as many lines as it needs.
        assert "its call has not returned" in why.replace("\r\n", "")
        os.write(screen.end, b"b")
        screen.read_until("OPERATION\r\n")
        os.write(screen.end, b"q")
        assert screen.end_status() == 0


def test_top_fits_into_each_terminal(bench: Bench) -> None:
    with bench.process() as it:
        for lines in range(1, 12):
            screen = Screen([str(bench.program), "top", str(it.pid), "0.05"], lines)
            table = [r"stuck, process ", "QUEUE ", "network ", "disk |idle ", "disk |idle "]
            screen.read_until("\033\\[H\033\\[J")
            shown = screen.settled()
            expected = table[: lines - 1]
            assert len(shown) == len(expected), (lines, shown)
            assert all(map(re.match, expected, shown)), (lines, shown)
            os.write(screen.end, b"nj\033[B\033[B\r")
            screen.read_until("network: fifo" if lines > 1 else "\033\\[J(?=\033)")
            shown = screen.settled()
            assert len(shown) <= max(0, lines - 1), (lines, shown)
            assert lines == 1 or shown[0].startswith("network: fifo"), (lines, shown)
            # Why comes before the operations.
            assert lines < 4 or "waits for" in "".join(shown), (lines, shown)
            assert lines < 9 or any("  running call" in line for line in shown), (lines, shown)
            os.write(screen.end, b"q")
            assert screen.end_status() == 0


def test_top_shows_what_is_selected_and_how_many_more_there_are(bench: Bench) -> None:
    with bench.process() as it:
        screen = Screen([str(bench.program), "top", str(it.pid), "0.05"], 4)
        screen.read_until("OPERATION\r\n")
        os.write(screen.end, b"n")
        for name in ("disk", "idle", "network"):
            os.write(screen.end, b"j")
            screen.read_until(f"\033\\[7m{name} ")
            shown = screen.settled()
            assert shown[1].startswith("QUEUE (2 more) "), shown
            assert shown[2].startswith(f"{name} "), shown
        os.write(screen.end, b"q")
        assert screen.end_status() == 0


def test_top_counts_columns_and_not_characters(bench: Bench) -> None:
    wide, accented = "\u6f22", "e\u0301"
    with bench.of_sort("wide") as it:
        screen = Screen([str(bench.program), "top", str(it.pid), "0.05"])
        os.write(screen.end, b"n")
        screen.read_until(f"\r\n{accented}.*\r\n{wide}")
        rows = [unicodedata.normalize("NFD", row) for row in screen.settled()[2:]]
        # A table of two rows, each of which fits into its line.
        assert len(rows) == 2, rows
        counts = r" +0 +1 +\S+ +\d+ ms +token +"
        assert re.match(f"(?:{accented}){{20}}{counts}{wide}{{13}}", rows[0]), rows
        assert re.match(f"{wide}{{10}}{counts}(?:{accented}){{20}} ", rows[1]), rows
        os.write(screen.end, b"q")
        assert screen.end_status() == 0


def test_top_knows_the_keys_of_terminals(bench: Bench) -> None:
    with bench.process() as it:
        screen = Screen([str(bench.program), "top", str(it.pid), "60"])
        screen.read_until("OPERATION\r\n")
        # Arrows of both sorts; and keys that mean nothing: home, page up, delete, a function key.
        os.write(screen.end, b"n\033OB")
        screen.read_until("\033\\[7mdisk ")
        os.write(screen.end, b"\033[H\033[5~\033[3~\033OP\033[1;5B")
        screen.read_until("\033\\[7midle ")
        os.write(screen.end, b"\033OA")
        screen.read_until("\033\\[7mdisk ")
        os.write(screen.end, b"q")
        assert screen.end_status() == 0


def test_top_is_stopped_and_goes_on(bench: Bench) -> None:
    with bench.process() as it:
        screen = Screen([str(bench.program), "top", str(it.pid), "0.1"])
        screen.frame()
        assert not screen.is_echoing()
        for _ in range(2):
            os.write(screen.end, b"\x1a")
            _, status = os.waitpid(screen.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            assert screen.is_echoing()
            screen.read_until("\033\\[\\?25h\033\\[\\?1049l$")
            os.kill(screen.pid, signal.SIGCONT)
            screen.read_until("^\033\\[\\?1049h\033\\[\\?25l")
            check_table(screen.frame())
            assert not screen.is_echoing()
        os.write(screen.end, b"q")
        assert screen.end_status() == 0


def test_top_gives_the_terminal_back_when_it_is_interrupted(bench: Bench) -> None:
    with bench.process(INTURN_SOCKET="socket") as it:
        screen = Screen([str(bench.program), "top", str(it.pid), "0.1"])
        screen.frame()
        os.write(screen.end, b"\x03")
        assert screen.end_status() == 0
        assert screen.text.endswith("\033[?25h\033[?1049l")


def test_top_gives_the_terminal_back_when_the_process_ends(bench: Bench) -> None:
    with bench.process(INTURN_SOCKET="socket") as it:
        screen = Screen([str(bench.program), "top", str(it.pid), "0.1"])
        screen.frame()
        it.kill()
        it.wait()
        assert screen.end_status() == 1
        # The last message stays on the previous screen.
        assert "\033[?1049linturn: " in screen.text, screen.text


def test_where_memory_cannot_be_read_the_process_answers(bench: Bench) -> None:
    with bench.process(INTURN_SOCKET="socket") as it:
        for words in (("dump", it.pid), ("dump", it.pid, "dot"), ("top", it.pid)):
            said = [bench.answer(*words, may_read=may) for may in (True, False)]
            # The process itself also tells the present time.
            assert '"network"' in said[1] or "network " in said[1]
            queues = [re.findall("^queue .*", text, re.MULTILINE) for text in said]
            assert queues[0] == queues[1]
        for what in ("save", "network"):
            whys = [bench.answer("why", it.pid, what, may_read=may) for may in (True, False)]
            assert len({re.sub(r"for [\d.]+ m?s", "for some time", why) for why in whys}) == 1
        fault = bench.refusal("why", it.pid, "0x1", may_read=False)
        assert fault == "there is no such operation"


def test_it_says_why_a_process_does_not_answer(bench: Bench) -> None:
    with bench.process() as it:
        said = bench.refusal("dump", it.pid, may_read=False)
        assert said.startswith(f"process {it.pid} cannot be read: the system forbids it"), said
        assert "kernel.yama.ptrace_scope" in said
        assert "INTURN_SOCKET=PATH" in said
    with bench.process(INTURN_SOCKET="socket") as it:
        (Path(f"/proc/{it.pid}/cwd") / "socket").unlink()
        said = bench.refusal("dump", it.pid, may_read=False)
        assert said == f"process {it.pid} does not listen at socket: No such file or directory"
    with bench.process(INTURN_SOCKET="socket") as it:
        it.send_signal(signal.SIGSTOP)
        os.waitpid(it.pid, os.WUNTRACED)
        said = bench.refusal("top", it.pid, may_read=False)
        assert said == f"process {it.pid} is stopped, so it does not answer"
    for may in (True, False):
        assert bench.refusal("dump", it.pid, may_read=may) == f"there is no process {it.pid}"
    said = bench.refusal("dump", os.getpid())
    assert said == f"process {os.getpid()} has not loaded libinturn"


def test_where_its_environment_cannot_be_read_the_programs_says_where_it_listens(
    bench: Bench,
) -> None:
    def settings(path: str) -> dict[str, str]:
        return {"REFUSE_FILES": "1", "INTURN_SOCKET": path}

    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/%p"
        with bench.process(INTURN_SOCKET=socket) as it:
            said = bench.answer("why", it.pid, "save", may_read=False, **settings(socket))
            assert said.startswith('"save" ')
            said = bench.refusal("dump", it.pid, may_read=False, **settings("nowhere"))
            assert said == f"process {it.pid} does not listen at nowhere: No such file or directory"
            said = bench.refusal("dump", it.pid, may_read=False, **settings(""))
            assert said == (
                f"process {it.pid} belongs to another user: run this as that user or as root"
            )


def test_a_process_that_has_ended_and_is_not_waited_for_is_said_to_have_ended(
    bench: Bench,
) -> None:
    with bench.process() as it:
        it.kill()
        os.waitid(os.P_PID, it.pid, os.WEXITED | os.WNOWAIT)
        for command in ("dump", "why", "top", "holders"):
            said = bench.refusal(command, it.pid)
            assert said == f"process {it.pid} has ended; its parent has not waited for it"


def test_it_answers_while_nobody_reads_its_standard_error(bench: Bench) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 65536)
    os.set_blocking(writer, True)
    settings = {"INTURN_SOCKET": "socket", "INTURN_DUMP": "SIGUSR2"}
    with bench.started([str(bench.stuck)], writer, **settings) as it:
        it.send_signal(signal.SIGUSR2)
        # The first may come before the signal has arrived.
        for _ in range(3):
            assert '"network"' in bench.answer("dump", it.pid, may_read=False)
    os.close(reader)
    os.close(writer)


def test_it_says_who_listens_in_the_place_of_a_process(bench: Bench) -> None:
    with (
        bench.process(INTURN_SOCKET="socket") as it,
        bench.process(INTURN_SOCKET="socket") as other,
    ):
        path = Path(f"/proc/{it.pid}/cwd") / "socket"
        path.unlink()
        path.symlink_to((Path(f"/proc/{other.pid}/cwd") / "socket").resolve())
        said = bench.refusal("dump", it.pid, may_read=False)
        assert said == f"at socket, process {other.pid} listens, not process {it.pid}"


def test_a_wrong_call_shows_how_it_is_called(bench: Bench) -> None:
    for words in ((), ("ps", "1"), ("dump",), ("dumb", "1"), ("why", "1", "2", "3")):
        status, said, complaint = bench.ask(*words)
        assert (status, said) == (2, "")
        assert complaint.startswith("usage: inturn ps ")
    assert bench.refusal("dump", "self") == "self is not the number of a process"
    assert bench.refusal("dump", "-1") == "-1 is not the number of a process"
    assert bench.refusal("top", os.getpid(), "0") == "0 is not from 0.05 to 3600 seconds"
    assert bench.answer("--help").startswith("usage: inturn ps ")


def main() -> int:
    """Runs them all; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.prefix.resolve(), out)
    passed = failed = 0
    parts = (globals(), vars(reading), vars(asking), vars(holders), vars(debugger))
    tests = {name: test for part in parts for name, test in part.items() if "test_" in name[:5]}
    for name, test in tests.items():
        print("begin", name, flush=True)
        try:
            test(bench)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            print("FAILED", name)
            failed += 1
        else:
            print("ok", name)
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
