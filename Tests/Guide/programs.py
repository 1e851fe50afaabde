"""Runs the programs that the guide quotes, and compares what they print with what is expected.

    programs.py --prefix DIR [--out DIR]

DIR of --prefix is where the library is installed, that of --out gets the programs in C and C++.
A program is examples/guide/programs/NAME.LANGUAGE; examples/expected/guide/NAME.out is the same
for all languages, but for one that has its own, NAME.LANGUAGE.out.  Times in it are all 0 ms, and
files are without their folder.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "examples/guide/programs"
EXPECTED = ROOT / "examples/expected/guide"
LIMIT = 60  # Seconds for each.
# What a program needs besides the library, by its pkg-config name.
PACKAGES = {"moving_gtask.c": "gio-2.0"}
COMPILERS = {".c": ["cc", "-std=gnu11"], ".cpp": ["c++", "-std=c++20"]}


def command(program: Path, prefix: Path, out: Path) -> list[str]:
    """How a program is run; one that has to be compiled is."""
    if program.suffix == ".py":
        return [sys.executable, "-W", "error", str(program)]
    built = out / program.name.replace(".", "-")
    flags = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread", f"-I{prefix}/include"]
    link = [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-linturn", "-o", str(built)]
    if program.name in PACKAGES:
        query = ["pkg-config", "--cflags", "--libs", PACKAGES[program.name]]
        found = subprocess.run(query, check=True, capture_output=True, text=True).stdout
        link += found.replace("-I", "-isystem").split()
    subprocess.run([*COMPILERS[program.suffix], *flags, str(program), *link], check=True)
    return [str(built)]


def run(words: list[str]) -> str:
    """What a command prints.  One that says so gets Ctrl-C's like from a service manager."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as it:
        limit = threading.Timer(LIMIT, it.kill)
        limit.start()
        printed = ""
        for line in it.stdout or ():
            printed += line
            if "Ctrl-C" in line:
                it.send_signal(signal.SIGTERM)
        limit.cancel()
    status = "" if it.returncode == 0 else f"status {it.returncode}\n"
    return re.sub(r"[\d.]+ m?s\b", "0 ms", printed.replace(f"{PROGRAMS}/", "")) + status


def main() -> int:
    """Runs them all; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ROOT / ".build/guide")
    options = parser.parse_args()
    prefix, out = options.prefix.resolve(), options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONPATH"] = str(ROOT / "bindings/python/src")
    os.environ["INTURN_LIBRARY"] = str(prefix / "lib/libinturn.so")
    programs = sorted(path for path in PROGRAMS.iterdir() if path.is_file())
    passed = failed = 0
    for program in programs:
        print(program.name, flush=True)
        own = EXPECTED / f"{program.name}.out"
        expected = own if own.exists() else EXPECTED / f"{program.stem}.out"
        printed = run(command(program, prefix, out))
        if expected.exists() and printed == expected.read_text(encoding="utf-8"):
            passed += 1
        else:
            failed += 1
            print(f"FAILED {program.name} printed:\n{printed}")
    names = {name for program in programs for name in (program.stem, program.name)}
    for unused in sorted({path.stem for path in EXPECTED.iterdir()} - names):
        failed += 1
        print(f"FAILED {unused}.out belongs to no program")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
