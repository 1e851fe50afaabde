"""The processes under test, and the program that looks into them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 60  # Seconds for anything.


class Bench:
    """Starts processes, and the program that looks into them."""

    def __init__(self, prefix: Path, out: Path) -> None:
        self.prefix = prefix
        self.program = prefix / "bin" / "inturn"
        self.stuck = out / "stuck"
        self.several = out / "process"
        self.tokens = out / "tokens"
        self.refuse = out / "refuse.so"
        self.count = out / "count.so"
        flags = ["-std=c11", "-O1", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror"]
        link = [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-linturn"]
        parts = [str(HERE / "process_waits.c"), str(HERE / "process_stalls.c")]
        for made, more in (
            (self.stuck, link),
            (self.several, [*parts, *link]),
            (self.tokens, link),
            (self.refuse, ["-shared", "-fPIC"]),
            (self.count, ["-shared", "-fPIC"]),
        ):
            source = str(HERE / made.with_suffix(".c").name)
            subprocess.run(["gcc", *flags, source, *more, "-o", str(made)], check=True)

    def of_python(self) -> dict[str, str]:
        """The environment in which Python has the package."""
        return {
            "PYTHONPATH": str(HERE.parents[1] / "bindings/python/src"),
            "INTURN_LIBRARY": str(self.prefix / "lib" / "libinturn.so"),
        }

    def process(
        self, **environment: str
    ) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
        return self.started([str(self.stuck), "a\nb"], **environment)

    def of_sort(
        self, what: str, **environment: str
    ) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
        return self.started([str(self.several), what], **environment)

    @contextlib.contextmanager
    def started(
        self, command: list[str], stderr: int | None = None, /, **environment: str
    ) -> Iterator[subprocess.Popen[str]]:
        settings = {**os.environ, "INTURN_STALL": "off", **environment}
        with (
            tempfile.TemporaryDirectory() as folder,
            subprocess.Popen(
                command,
                env=settings,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            ) as it,
        ):
            try:
                assert it.stdout is not None
                assert it.stdout.readline() == "ready\n"
                yield it
            finally:
                it.kill()

    def run(self, *command: object, **environment: str) -> tuple[int, str, str]:
        ended = subprocess.run(
            [*map(str, command)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        return ended.returncode, ended.stdout, ended.stderr

    def ask(self, *words: object, may_read: bool = True, **more: str) -> tuple[int, str, str]:
        """Runs the program; if `may_read` is false, the system refuses to let it read memory."""
        settings = more if may_read else {"LD_PRELOAD": str(self.refuse), **more}
        return self.run(self.program, *words, **settings)

    def answer(self, *words: object, may_read: bool = True, **more: str) -> str:
        status, said, complaint = self.ask(*words, may_read=may_read, **more)
        assert (status, complaint) == (0, ""), (status, complaint)
        return said

    def reads(self, *words: object) -> tuple[int, int]:
        """How often the program reads memory, and how often of these while it stops the process."""
        with tempfile.NamedTemporaryFile("r") as counts:
            self.counted(*words, COUNT_TO=counts.name)
            reads, while_stopped = map(int, counts.read().split())
        return reads, while_stopped

    def counted(self, *words: object, **settings: str) -> str:
        """What the program says with the library of `count.c`, which says what the settings do."""
        settings = {"LD_PRELOAD": str(self.count), "COUNT_TO": os.devnull, **settings}
        status, said, complaint = self.run(self.program, *words, **settings)
        assert (status, complaint) == (0, ""), (settings, status, complaint)
        return said

    def refusal(self, *words: object, may_read: bool = True, **more: str) -> str:
        status, said, complaint = self.ask(*words, may_read=may_read, **more)
        assert (status, said) == (1, ""), (status, said)
        assert re.fullmatch("inturn: .*\n", complaint), complaint
        return complaint.removeprefix("inturn: ").strip()
