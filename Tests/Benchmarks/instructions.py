"""Counts the library's instructions in each case, with and without a setting of the environment.

Times differ by more from run to run than what may differ here, and more so on a busy machine;
callgrind counts each instruction of each thread. Where threads spin for each other, the count
varies as well, by less than one in a hundred.

    instructions.py --library DIR --build DIR                 what the watchdog costs
    instructions.py --library DIR --build DIR --before DIR    against another library
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cases import CASES, SUBJECTS, Case

# Cases whose work is the same in each run, however fast it is.
NAMES = (
    *("one_producer", "four_producers", "ended_elsewhere", "idle_queues", "options", "cancel"),
    *("concurrent", "batch", "chain", "fan", "priorities", "interactions"),
)
MOST = 1.02
TRIES = 3


def count(program: Path, case: Case, library: Path, **settings: str) -> int:
    """The instructions of one run that are the library's, in all threads."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        command = [str(program), case.name, *map(str, case.quick)]
        subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command],
            env={**os.environ, "LD_LIBRARY_PATH": str(library), **settings},
            check=True,
            capture_output=True,
            timeout=300,
        )
        lines = subprocess.run(
            ["callgrind_annotate", "--threshold=100", str(out)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.splitlines()
    counts = (re.match(r"\s*([\d,]+) .*libinturn", line) for line in lines)
    return sum(int(found[1].replace(",", "")) for found in counts if found)


def main() -> int:
    """Prints a line for each program; fails where a setting costs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True, help="where run has built")
    parser.add_argument("--before", type=Path, help="the folder of another library")
    arguments = parser.parse_args()
    before = arguments.before or arguments.library
    setting = {} if arguments.before else {"INTURN_STALL": "off"}
    dear = []
    for case in (case for case in CASES if case.name in NAMES):
        for subject in (peer for peer in case.peers if peer in SUBJECTS):
            program = arguments.build / f"{case.program}-{subject}"
            ratios: list[float] = []
            while not ratios or (ratios[-1] > MOST and len(ratios) < TRIES):
                base = count(program, case, before, **setting)
                ratios.append(count(program, case, arguments.library) / base)
            print(f"{case.name:16}{subject:22}{base:>12} {min(ratios):7.4f}x", flush=True)
            if min(ratios) > MOST:
                dear.append(f"{case.name} {subject}")
    print(f"more than {MOST}: {', '.join(dear)}" if dear else f"none above {MOST}")
    return 1 if dear else 0


if __name__ == "__main__":
    sys.exit(main())
