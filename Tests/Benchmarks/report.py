"""Runs the benchmark programs in turn, and compares Inturn with its peers."""

import argparse
import csv
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import geometric_mean

from cases import CASES, INTURN, SUBJECTS, Case, Target
from figures import Row, Values, compare, make_rows

LIMIT_SECONDS = 120
PACKAGES = (
    "g++",
    "libc6",
    "libboost-dev",
    "libuv1-dev",
    "libglib2.0-dev",
    "libtbb-dev",
)
COLUMNS = (
    "case",
    "metric",
    "subject",
    "peer",
    "figure",
    "minimum",
    "median",
    "maximum",
    "must",
    "aim",
    "verdict",
)


class Failed(SystemExit):
    """A program has failed or hangs. Ends this one unless it is caught."""


def output(command: list[str], **settings: str) -> list[str]:
    """The lines that a program prints, with these variables in its environment."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **settings},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=LIMIT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Failed(f"report.py: {error}") from error
    return done.stdout.splitlines()


def run_rounds(case: Case, numbers: tuple[int, ...], build: Path, rounds: int) -> Values:
    """Runs each program once a round; each round begins with the next program."""
    values: Values = defaultdict(list)
    programs = case.programs()
    for number in range(rounds):
        start = number % len(programs)
        for program in programs[start:] + programs[:start]:
            command = [str(build / program), case.name, *map(str, numbers)]
            for _, peer, metric, value in csv.reader(output(command)):
                values[metric, peer].append(float(value))
    return values


def compare_settings(
    case: Case, numbers: tuple[int, ...], build: Path, rounds: int, setting: str
) -> Iterator[Row]:
    """Runs Inturn's own programs with and without a setting, in turn: the ratios of without."""
    name, _, value = setting.partition("=")
    for subject in (peer for peer in case.peers if peer in SUBJECTS):
        command = [str(build / f"{case.program}-{subject}"), case.name, *map(str, numbers)]
        values: Values = defaultdict(list)
        for number in range(rounds):
            pair: list[tuple[str, dict[str, str]]] = [(subject, {}), (setting, {name: value})]
            for peer, settings in pair[:: 1 if number % 2 else -1]:
                for _, _, metric, figure in csv.reader(output(command, **settings)):
                    values[metric, peer].append(float(figure))
        for metric in dict.fromkeys(metric for metric, _ in values):
            yield compare(case, Target(metric, setting, subject=subject), values)


def show(number: float | None, unit: str = "") -> str:
    """A number with at least three digits, or a dash."""
    if number is None:
        return "-"
    return (f"{number:.0f}" if number >= 1000 else f"{number:.3g}") + unit


def print_line(metric: str, peer: str, numbers: list[str], verdict: str) -> None:
    """Prints one line of a table."""
    columns = "".join(f"{number:>9}" for number in numbers)
    print(f"  {metric:29}{peer:19}{columns}  {verdict}".rstrip())


def print_table(title: str, rows: list[Row]) -> None:
    """Prints a case's rows below its title."""
    print(f"\n{title}")
    print_line("", "", ["figure", "min", "median", "max", "must", "aim"], "")
    previous = ""
    for row in rows:
        target = row.target
        unit = "x" if target.peer else ""
        spread = (min(row.values), row.median, max(row.values))
        print_line(
            "" if target.metric == previous else target.metric,
            f"{target.peer} *"
            if target.peer and target.subject != INTURN
            else target.peer or target.subject,
            [show(row.figure)]
            + [show(value, unit) for value in spread]
            + [show(target.must), show(target.aim)],
            row.verdict,
        )
        previous = target.metric
    sys.stdout.flush()


def describe(arguments: argparse.Namespace) -> Iterator[str]:
    """Lists what the figures were measured with."""
    processor = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    versions = output(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *PACKAGES])
    yield f"date: {datetime.now(UTC):%Y-%m-%d}"
    yield f"machine: {processor}, {os.cpu_count()} processors"
    yield f"system: {platform.system()} {platform.release()}"
    yield f"compiler: {output([arguments.compiler, '--version'])[0]}"
    yield f"swift and libdispatch: {output(['swiftc', '--version'])[0]}"
    yield f"peers: {', '.join(versions)}"
    yield f"rounds: {arguments.rounds}{', quick' if arguments.quick else ''}"
    yield f"load before: {os.getloadavg()[0]:.1f}"


def write_csv(path: Path, lines: list[str], rows: list[Row]) -> None:
    """Writes the rows, preceded by what they were measured with."""

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.4f}"

    with path.open("w", newline="") as file:
        file.writelines(f"# {line}\n" for line in lines)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            target = row.target
            writer.writerow(
                (
                    row.case,
                    target.metric,
                    target.subject,
                    target.peer or "",
                    number(row.figure),
                    number(min(row.values)),
                    number(row.median),
                    number(max(row.values)),
                    number(target.must),
                    number(target.aim),
                    row.verdict,
                )
            )


def parse() -> argparse.Namespace:
    """Parses the command line; `run --help` explains the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--programs", action="store_true", help="print what to build")
    parser.add_argument("--compiler", default="clang++")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--against")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES])
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 7)
    return arguments


def main() -> int:
    """Runs, prints, writes and judges; returns the exit status."""
    # Lines are written at once, so that each case can be seen when it is over.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    arguments = parse()
    cases = [case for case in CASES if not arguments.case or case.name in arguments.case]
    if arguments.programs:
        names = dict.fromkeys(name for case in cases for name in case.programs())
        print("\n".join(str(arguments.build / name) for name in names))
        return 0

    lines = list(describe(arguments))
    print("\n".join(lines))
    rows: list[Row] = []
    failed: list[str] = []
    for case in cases:
        numbers = case.quick if arguments.quick else case.full
        try:
            if arguments.against:
                rounds, setting = arguments.rounds, arguments.against
                added = list(compare_settings(case, numbers, arguments.build, rounds, setting))
            else:
                values = run_rounds(case, numbers, arguments.build, arguments.rounds)
                added = list(make_rows(case, values))
        except Failed as failure:
            print(f"\n{case.name}: {failure}")
            failed.append(case.name)
            continue
        sizes = ", ".join(f"{number:,}" for number in numbers)
        print_table(f"{case.name}: {case.title} ({sizes})", added)
        rows += added
    if arguments.against and rows:
        mean = geometric_mean(row.median for row in rows if row.median > 0)
        print(f"\ngeometric mean of the medians: {show(mean, 'x')}")
    lines.append(f"load after: {os.getloadavg()[0]:.1f}")
    if arguments.csv:
        write_csv(arguments.csv, lines, rows)

    missed = [row for row in rows if row.missed]
    print(f"\n{len(missed)} required limits missed")
    for row in missed:
        target = row.target
        against = f" against {target.peer}" if target.peer else ""
        print(
            f"  {row.case}: {target.metric} of {target.subject}{against}:"
            f" {show(row.median)}, must reach {show(target.must)}"
        )
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed or (missed and arguments.gate) else 0


if __name__ == "__main__":
    sys.exit(main())
