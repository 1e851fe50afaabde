"""Commands of gdb for a process or a core file that has the Inturn library.

    gdb -p PID -x inturn-gdb.py
    gdb PROGRAM CORE -x inturn-gdb.py

    (gdb) inturn queues             a table of the queues
    (gdb) inturn dump [FORMAT]      everything: text, json, dot or html
    (gdb) inturn why [ID | LABEL]   what keeps an operation

Of a process that uses several copies of the library, ``set $inturn_copy = 2`` chooses the second.
No code runs in the process. The work is done by the program ``inturn``, which is installed with
this file: it asks for memory through a pipe.
"""

import os
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import gdb

# The mark in CInturnSystem/Layout.h, with its final zero.
MARK = b"Inturn's engine\0"
ENGINE_AT = 24

# Only known while gdb reads this file.
FOLDER = Path(__file__).resolve().parent


def find_program() -> str:
    """The program of the same install, wheel or build, or else the one on the PATH."""
    for path in (FOLDER / "inturn", FOLDER.parent.parent / "bin" / "inturn"):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    if found := shutil.which("inturn"):
        return found
    raise gdb.GdbError("inturn: there is no program inturn here or in the PATH")


def find_marks(files: str) -> list[int]:
    """Those with an engine, in the order of addresses; without any, one of the others.

    They are in the data of files.
    """
    inferior, unused = gdb.selected_inferior(), 0
    found = []
    for line in re.finditer(r"^\s*(0x\w+) - (0x\w+) is \.data\b", files, re.MULTILINE):
        begin, end = (int(number, 16) for number in line.groups())
        try:
            if (mark := inferior.search_memory(begin, end - begin, MARK)) is None:
                continue
            if any(inferior.read_memory(mark + ENGINE_AT, 8).tobytes()):
                found.append(mark)
            unused = unused or mark
        except gdb.MemoryError:
            continue
    if not unused:
        raise gdb.GdbError("inturn: it has not loaded libinturn, or none that can be read")
    return sorted(found) or [unused]


def chosen(marks: list[int]) -> int:
    """The mark of the copy of the library that the user has chosen; else of the first."""
    number, count = int(gdb.convenience_variable("inturn_copy") or 0), len(marks)
    if number > count:
        raise gdb.GdbError(
            f"inturn: it uses {count} {'copy' if count == 1 else 'copies'} of the library"
        )
    if number < 1 and count > 1:
        gdb.write(
            f"inturn: it uses {count} copies of the library; this is of the first: "
            "set $inturn_copy = 2 is for the second\n"
        )
    return marks[max(number, 1) - 1]


def ask(*words: str) -> None:
    """Runs the program, and serves the memory that it asks for."""
    files = gdb.execute("info files", to_string=True)
    kind = "core" if "core dump file" in files else "live"
    mark = chosen(find_marks(files))
    inferior = gdb.selected_inferior()
    (asked, asks), (gets, given) = os.pipe(), os.pipe()
    command = [find_program(), words[0], f"@{gets},{asks},{mark:x},{kind}", *words[1:]]
    # The output may be more than a pipe holds.
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, pass_fds=(gets, asks)
        ):
            os.close(gets)
            os.close(asks)
            with os.fdopen(asked, "rb") as requests, os.fdopen(given, "wb", 0) as answers:
                while len(request := requests.read(16)) == 16:
                    address, size = struct.unpack("=QQ", request)
                    try:
                        answers.write(b"\1" + inferior.read_memory(address, size).tobytes())
                    except gdb.MemoryError:
                        answers.write(b"\0")
        said.seek(0)
        gdb.write(said.read().decode(errors="replace"))


class Command(gdb.Command):
    """One of the commands, under the program's name for it."""

    def __init__(self, name: str, word: str, about: str, most: int = 1) -> None:
        self.__doc__ = about
        self.word = word
        self.most = most
        super().__init__(f"inturn {name}", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        words = gdb.string_to_argv(argument)
        if len(words) > self.most:
            raise gdb.GdbError(f"inturn: that is too much: {self.__doc__}")
        ask(self.word, *words)


class Prefix(gdb.Command):
    """What the queues of a process do: queues, dump, why."""

    def __init__(self) -> None:
        super().__init__("inturn", gdb.COMMAND_STATUS, prefix=True)


Prefix()
Command("queues", "top", "A table of the queues: inturn queues", most=0)
Command("dump", "dump", "All there is, as text, json, dot or html: inturn dump [FORMAT]")
Command("why", "why", "What keeps an operation from ending: inturn why [ID | LABEL]")
