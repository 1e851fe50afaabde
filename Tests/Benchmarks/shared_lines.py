"""Counts what two threads write in common that use a queue each; valgrind sees each write.

Many processors cannot be had here. What keeps them from working side by side are cache lines that
several of them write; so it is enough to count these writes. `shared_lines.c` is what is traced.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

LINE = 64
# Writes to lines of both, for each operation: a chunk of jobs is taken and given back now and then.
MOST = 0.1
HERE = pathlib.Path(__file__).resolve().parent


def build(library: pathlib.Path, program: pathlib.Path) -> None:
    include = HERE.parent.parent / "include"
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-linturn", "-lpthread"]
    source = HERE / "shared_lines.c"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{include}"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(program), *linked], check=True)


def writes(program: pathlib.Path) -> tuple[dict[int, list[int]], int]:
    """How often each thread has written to each line, and how many operations each has had."""
    command = ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={program}.trace"]
    said = subprocess.run([*command, str(program)], check=True, stdout=subprocess.PIPE, text=True)
    place, operations = said.stdout.split()
    whose, order = 0, iter(changes())
    found: dict[int, list[int]] = collections.defaultdict(lambda: [0, 0, 0])
    with pathlib.Path(f"{program}.trace").open(errors="replace") as trace:
        for line in trace:
            # " S 1ffeffe7e,8" is a store, " M " one after a load.
            if line[:3] not in (" S ", " M "):
                continue
            address, _, size = line[3:].partition(",")
            if int(address, 16) == int(place, 16):
                whose = next(order)
                continue
            last = int(address, 16) + int(size) - 1
            for number in {int(address, 16) // LINE, last // LINE}:
                found[number][whose] += 1
    if next(order, None) is not None:
        sys.exit("the threads did not change as often as they should have")
    return found, int(operations)


def changes() -> list[int]:
    """What `whose` becomes, one after the other."""
    # The first side begins, hands over in its first operation, goes on, and ends.
    return [0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=pathlib.Path, required=True, help="where libinturn.so is")
    library = parser.parse_args().library.resolve()
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "shared_lines"
        build(library, program)
        found, operations = writes(program)
    own = [sum(1 for each in found.values() if each[side]) for side in (1, 2)]
    all_writes = [sum(each[side] for each in found.values()) for side in (1, 2)]
    common = [each for each in found.values() if each[1] and each[2]]
    share = max(sum(each[side] for each in common) for side in (1, 2)) / operations
    print(f"{operations} operations each write {own[0]} and {own[1]} cache lines")
    print(f"{all_writes[0] / operations:.1f} writes an operation; to lines of both: {share:.3f}")
    if min(own) < 100 or share > MOST:
        sys.exit(f"FAILED: at most {MOST} writes an operation may be to lines of both")


if __name__ == "__main__":
    main()
