"""Asks the tests about each mutant, and records which test notices it.

    score.py --out DIR [--stages [NAME,NAME...]] [--schedules N] [--seconds N]
             [--filter TEXT] [--fresh]

The stages run in this order; each is asked about what the ones before have missed:

    plain     the scenarios
    thread    the scenarios under ThreadSanitizer, about locks
    address   the scenarios under AddressSanitizer
    c, cxx    the programs of Tests/C and Tests/Cxx
    swift     the suites of the Swift tests; swift-thread: under ThreadSanitizer

The last ones run in real time, with the rewritten engine in an ordinary debug build. A mutant is
only run with tests that reach it, --seconds of them: first the one that noticed it when list.tsv
was written, then the fast ones. A test has noticed a mutant if it fails, crashes or hangs with it,
and passes without it right afterwards. What has been noticed is kept in DIR until --fresh is given,
and until then equivalent mutants are not run; with an empty --stages, only the list is written.

mutants.py defines the mutants. Mutants that change nothing promised have their reasons in
equivalent.tsv; those that no test reaches at the right moment are in open.tsv. Everything is
written to list.tsv.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import mutants

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# The number of processors that this process may use.
WORKERS = len(os.sched_getaffinity(0))
SCENARIOS = ("plain", "thread", "address")
STAGES = (*SCENARIOS, "c", "cxx", "swift", "swift-thread")


@dataclass
class Test:
    """A test that can be run alone, and the mutants that it reaches."""

    name: str
    command: list[str]
    seconds: float = 0
    reached: bytes = b""

    def run(self, mutant: int = 0, marks: Path | None = None) -> str | None:
        """Runs the test. Returns its output if it fails."""
        environment = {**os.environ, "INTURN_MUTANT": str(mutant)}
        environment["SWIFT_BACKTRACE"] = "enable=no"
        environment["TSAN_OPTIONS"] = "halt_on_error=1:die_after_fork=0"
        if marks:
            environment["INTURN_MUTANTS_REACHED"] = str(marks)
        begin = time.monotonic()
        with subprocess.Popen(
            self.command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(timeout=60 if marks else 5 + 5 * self.seconds)
                hangs = False
            except subprocess.TimeoutExpired:
                hangs = True
            finally:
                # With all processes that it has started.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            if hangs:
                said, _ = process.communicate()
        if marks:
            self.seconds = time.monotonic() - begin
            self.reached = marks.read_bytes()
        if process.returncode == 0:
            return None
        names = re.findall(
            rb"^FAILED (\w+)|^begin (\w+)|^.{1,4}Test (\w+)\(.*(?:started|issue|failed)",
            said,
            re.MULTILINE,
        )
        last = next((name.decode() for name in reversed(names[-1]) if name), "") if names else ""
        return f"{last}{' hangs' if hangs else ''}".strip()


def run(*command: object, **options: object) -> None:
    """Runs a step that has to succeed; its output is only shown if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    if done.returncode != 0:
        sys.exit(f"{command[0]} fails:\n{done.stdout[-20000:]}")


def ordinary_mutants() -> str:
    """Mutants.swift for the standard library's Atomic, which defines its operations for each width,
    and only takes constant orders."""
    head, atomic, rest = (HERE / "Mutants.swift").read_text().split("extension ", 2)
    atomic = re.sub(r": (o|successO|failureO)rdering\b", ": .sequentiallyConsistent", atomic)
    widths = ("UInt32", "UInt64")
    each = [
        atomic.replace(
            "{", f"where Value.AtomicRepresentation == {width}.AtomicRepresentation {{", 1
        )
        for width in widths
    ]
    return "extension ".join([head, *each, rest])


def build_package(out: Path, *options: str) -> Path:
    """Builds the Swift package with the rewritten engine; returns its debug build."""
    package = out / "package"
    sources = package / "Sources"
    sources.mkdir(parents=True, exist_ok=True)
    names = [f"Sources/{path.name}" for path in (ROOT / "Sources").iterdir()]
    for name in ["Package.swift", "Tests", "include", "examples", *names]:
        link = package / name
        if name not in {"Sources/InturnCore", "Sources/CInturnSystem"} and not link.is_symlink():
            link.symlink_to(ROOT / name)
    mutants.write(ROOT / "Sources/InturnCore", sources / "InturnCore")
    (sources / "InturnCore/Mutants.swift").write_text(ordinary_mutants())
    system = sources / "CInturnSystem"
    shutil.copytree(ROOT / "Sources/CInturnSystem", system, dirs_exist_ok=True)
    shutil.copy2(HERE / "mutants.c", system)
    shutil.copy2(HERE / "mutants.h", system / "include")
    header = system / "include/CInturnSystem.h"
    header.write_text(header.read_text() + '#include "mutants.h"\n')
    scratch = package / "-".join([".build", *(word.rsplit("=", 1)[-1] for word in options)])
    where = ["--package-path", package, "--scratch-path", scratch, *options]
    run("swift", "build", "--build-tests", *where)
    return scratch / "debug"


def programs(stage: str, out: Path, build: Path) -> list[Test]:
    """The test programs in C or C++, compiled by their own script."""
    folder, suffix = {"c": ("C", "c"), "cxx": ("Cxx", "cpp")}[stage]
    compiled = out / stage
    script = [ROOT / f"Tests/{folder}/run", "--include", ROOT / "include", "--lib", build]
    # If one fails without a mutant, such as a test of the release build, that is noticed later.
    subprocess.run(
        [str(word) for word in [*script, "--out", compiled]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        check=False,
    )
    os.environ["INTURN_LIBRARY"] = str(build / "libinturn.so")
    paths = [compiled / path.stem for path in (ROOT / f"Tests/{folder}").glob(f"*.{suffix}")]
    return [Test(path.name, [str(path)]) for path in sorted(paths) if path.exists()]


def suites(build: Path) -> list[Test]:
    """The Swift tests, by suite."""
    program = [str(build / "InturnPackageTests.xctest"), "--testing-library", "swift-testing"]
    listed = subprocess.run([*program, "--list-tests"], capture_output=True, text=True, check=True)
    names = {re.split(r"[/(]", line)[0] for line in listed.stdout.splitlines() if "." in line}
    return [
        Test(name, [*program, "--no-parallel", "--filter", f"^{re.escape(name)}\\b"])
        for name in sorted(names)
    ]


class Score:
    """What is known about each mutant."""

    def __init__(self, out: Path, is_fresh: bool) -> None:
        self.out = out
        self.all = mutants.write(ROOT / "Sources/InturnCore", out / "engine")
        self.numbers = {mutant.key: i + 1 for i, mutant in enumerate(self.all)}
        self.file = out / "noticed.tsv"
        if is_fresh:
            self.file.unlink(missing_ok=True)
        self.noticed: dict[int, tuple[str, str]] = {}
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                stage, test, key = line.split("\t", 2)
                if key in self.numbers:
                    self.noticed[self.numbers[key]] = (stage, test)
        self.reasons = {}
        for name in ("equivalent", "open"):
            for line in (HERE / f"{name}.tsv").read_text().splitlines():
                key, reason = line.rsplit("\t", 1)
                self.reasons[key] = (name, reason)
        self.settled = set()
        if not is_fresh:
            equivalent = [key for key, why in self.reasons.items() if why[0] == "equivalent"]
            self.settled = {self.numbers[key] for key in equivalent if key in self.numbers}

    def last_time(self) -> dict[int, str]:
        """The test that noticed each mutant, according to list.tsv."""
        tests, counts = {}, Counter[tuple[str, ...]]()
        for line in (HERE / "list.tsv").read_text().splitlines()[1:]:
            _, kind, place, code, _, test = line.split("\t")
            name = (place.split(":", maxsplit=1)[0], kind, code)
            counts[name] += 1
            number = self.numbers.get("\t".join([*name, str(counts[name])]))
            if number and test:
                tests[number] = test.split(maxsplit=1)[0]
        return tests

    def write_list(self) -> None:
        """Writes list.tsv, and prints how many mutants are noticed: of all, and without equivalent
        ones."""
        reasons = dict(self.reasons)
        lines = ["number\tkind\tplace\tcode\tstage\tnoticed by, or why not"]
        counts: Counter[str] = Counter()
        for number, mutant in enumerate(self.all, 1):
            unnoticed = reasons.pop(mutant.key, ("open", ""))
            stage, why = self.noticed.get(number, unnoticed)
            counts[stage] += 1
            lines.append(f"{number}\t{mutant.kind}\t{mutant.place}\t{mutant.code}\t{stage}\t{why}")
        (HERE / "list.tsv").write_text("\n".join(lines) + "\n")
        for key in reasons:
            print("there is a reason for none:", key)
        print(*(f"{stage}: {count}" for stage, count in counts.items()), sep=", ")
        share = len(self.noticed) / len(self.all)
        real = len(self.noticed) / (len(self.all) - counts["equivalent"])
        print(f"{len(self.noticed)} of {len(self.all)} are noticed: {share:.1%};", end=" ")
        print(f"{real:.1%} of those that are not equivalent")

    def missing(self, stage: str) -> list[int]:
        """The mutants that a stage has to be asked about."""
        known = {*self.noticed, *self.settled}
        left = [i for i in range(1, len(self.all) + 1) if i not in known]
        if "thread" not in stage:
            return left
        return [i for i in left if self.all[i - 1].kind == "lock"]

    def note(self, mutant: int, stage: str, test: str) -> None:
        self.noticed[mutant] = (stage, test)
        with self.file.open("a") as file:
            file.write(f"{stage}\t{test}\t{self.all[mutant - 1].key}\n")

    def ask_scenarios(self, stage: str, schedules: int, only: str) -> None:
        sanitize = [] if stage == "plain" else ["--sanitize", stage]
        folder = self.out / stage
        run(HERE.parent / "build.sh", "--output", folder, "--mutants", *sanitize)

        def ask(some: list[int]) -> None:
            words = [folder / "model", "score", "--schedules", schedules, "--filter", only]
            words += ["--mutants", ",".join(map(str, some))]
            with subprocess.Popen(
                [str(word) for word in words],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            ) as process:
                assert process.stdout
                for line in process.stdout:
                    print(stage, line, end="", flush=True)
                    fields = line.split("\t")
                    if len(fields) > 2 and fields[1] == "noticed":
                        self.note(int(fields[0]), stage, fields[2])

        left = self.missing(stage)
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(ask, [left[i::WORKERS] for i in range(min(WORKERS, len(left)))]))

    def ask_tests(self, stage: str, limit: float, only: str) -> None:
        if stage == "swift-thread":
            tests = suites(build_package(self.out, "--sanitize=thread"))
        elif stage == "swift":
            tests = suites(build_package(self.out))
        else:
            tests = programs(stage, self.out, build_package(self.out))
        tests = [test for test in tests if any(part in test.name for part in only.split(","))]
        marks = self.out / "reached"
        able = []
        for test in tests:
            marks.write_bytes(bytes(4096))
            said = test.run(marks=marks)
            if said is None:
                able.append(test)
            else:
                print(f"{stage} {test.name} fails by itself: left out ({said})", flush=True)
        able.sort(key=lambda test: test.seconds)
        for test in able:
            print(stage, test.name, f"{test.seconds:.1f} s", flush=True)

        hints = self.last_time()

        def ask(mutant: int) -> None:
            left = limit
            for test in sorted(able, key=lambda test: test.name != hints.get(mutant)):
                if not test.reached[mutant] or test.seconds > left:
                    continue
                left -= test.seconds
                said = test.run(mutant)
                # A test that hangs may only have been slow.
                if said is not None and "hangs" in said:
                    said = test.run(mutant)
                if said is not None and test.run() is None:
                    self.note(mutant, stage, f"{test.name} {said}".strip())
                    break
            print(stage, mutant, *self.noticed.get(mutant, ()), flush=True)

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(ask, self.missing(stage)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20, help="of tests, for each mutant")
    parser.add_argument(
        "--filter", default="", help="only tests so named, separated by commas; one for scenarios"
    )
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    # Long tests do less, unless the environment sets the scale.
    os.environ.setdefault("INTURN_TEST_SCALE", "0.02")
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    score = Score(out, arguments.fresh)
    for stage in filter(None, arguments.stages.split(",")):
        if stage in SCENARIOS:
            score.ask_scenarios(stage, arguments.schedules, arguments.filter)
        else:
            score.ask_tests(stage, arguments.seconds, arguments.filter)
    score.write_list()


if __name__ == "__main__":
    main()
