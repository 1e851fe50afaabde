"""Runs, on terminals, programs that are stuck, and compares what the library says on its own.

    terminals.py --prefix DIR --out DIR --swift PROGRAM [--filter TEXT] [--verbose]

DIR of --prefix is where the library is installed, and that of --out gets the program in C; PROGRAM
is the one of Swift/Package.swift. With the argument ``--list``, each program prints a line for each
of its scenarios: the name, the expected diagnosis, and ``new`` for a kind of stall that was not
thought of before there was a watchdog. With a name, it prints ``ready`` and runs that scenario.

The expected diagnosis is the chain and the end of the message, such as ``save@database >
load@network: its token has not been finished``. An ``@`` alone is a queue without a label, ``?`` an
operation without one. ``refused: TEXT`` is a wait that is refused at once, with TEXT in the report,
and ``silent: REASON`` is something that is not reported yet.

Each operation must have a site, which must be a line of the scenario, the one with the label. The
last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
SOON = 1.5  # Seconds. A report has to say that the stall has lasted less than this.
LATE = 4.0  # Seconds to wait for a report, as the machine may be busy.
AT_ONCE = 8  # How many programs run at once. They sleep.

LINK = (
    r'(?:("[^"]*"|an operation)(?: \(([^()]*):(\d+)\))? of )?(?:queue ("[^"]*")|an unnamed queue)'
)
# Between links; with the place of a wait inside the first one.
WAITS = r" waits(?: \(([^()]*):(\d+)\))? for "
CHAIN = re.compile(rf"inturn: stuck for ([\d.]+) (ms|s): ({LINK}(?:{WAITS}{LINK})*): (.*)")
WAITING = re.compile(r"wait|drain|run|result|with")
PLACE = re.compile(r"\(([^()]*):(\d+)\)")
HEAD = re.compile(r"(STUCK|NEW)\(|@|(async )?def |  (stuck|new)\(")  # The first line of a scenario.
# In Swift, a label ends with the site, or is one.
SWIFT_LABEL = re.compile(r'"(?:([^"]*), )?([\w/]+\.swift:\d+)"')
TIME = re.compile(r"\d+(\.\d)? m?s\b")
# A call that has not returned has a thread.
ON_THREAD = re.compile(r"running( for TIME)? on thread \d+ \(.+\), its call(?= has not)")
TAIL = re.compile(r"\. \d+ (more )?waits? (behind it|in it|in its queue)\.$")


class Scenario(NamedTuple):
    language: str
    command: list[str]
    name: str
    expected: str
    is_new: bool


class Verdict(NamedTuple):
    word: str  # "right", "wrong", "silent", "late", "refused"
    said: str


def listed(language: str, command: list[str]) -> list[Scenario]:
    run = subprocess.run([*command, "--list"], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    return [Scenario(language, command, row[0], row[1], "new" in row[2:]) for row in rows]


def environment() -> dict[str, str]:
    """The environment of a user who has set nothing."""
    return {name: value for name, value in os.environ.items() if name != "INTURN_STALL"}


def listen(scenario: Scenario) -> str:
    """Its output, up to the library's first line, and a little after it."""
    theirs, ours = pty.openpty()
    said = b""
    with subprocess.Popen(
        [*scenario.command, scenario.name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=ours,
        env=environment(),
    ) as it:
        os.close(ours)
        try:
            assert it.stdout is not None
            it.stdout.readline()
            end = time.monotonic() + LATE
            while (left := end - time.monotonic()) > 0:
                if not select.select([theirs], [], [], left)[0]:
                    break
                said += os.read(theirs, 65536)
                if b"inturn: " in said and said.endswith(b"\n"):
                    break
        except OSError:  # It has ended, and so has the terminal.
            pass
        finally:
            it.kill()
            os.close(theirs)
    text = said.decode(errors="replace").replace("\r\n", "\n")
    return SWIFT_LABEL.sub(
        lambda it: (f'"{it[1]}"' if it[1] else "an operation") + f" ({it[2]})", text
    )


def brief(message: re.Match[str]) -> str:
    """A message in the form of an expected diagnosis."""
    links = ""
    for link in re.finditer(rf"{LINK}(?:{WAITS})?", message[3]):
        links += ("?" if link[1] == "an operation" else link[1] or "") + "@" + (link[4] or "")
        links += " >> " if link[5] else " > " if link[0].endswith(" for ") else ""
    predicate = TAIL.sub("", message[message.re.groups]).rstrip(".")
    predicate = PLACE.sub("", predicate).replace(" ,", ",").strip()
    predicate = ON_THREAD.sub("its call", TIME.sub("TIME", predicate))
    predicate = re.sub("running for TIME, (?!its call has not)", "", predicate)
    predicate = predicate.replace(", and has been for TIME", "")
    return links.replace('"', "") + ": " + predicate


def lines_of(file: str) -> list[str]:
    (path,) = HERE.rglob(Path(file).name)
    return path.read_text().splitlines()


def wrong_place(scenario: Scenario, message: str) -> str:
    """What has no site, or one outside of the scenario; empty if all sites are right."""
    links = {number: label for label, _, number, _ in re.findall(LINK, message) if label}
    if "" in links:
        return f"{links['']} has no place"
    for file, number in re.findall(WAITS, message):
        if file and not WAITING.search(lines_of(file)[int(number) - 1]):
            return f"{file}:{number} does not wait"
    for file, number in PLACE.findall(re.sub(WAITS, " waits for ", message)):
        label = links.get(number, "")
        path, lines = Path(file), lines_of(file)
        # A function's head may take two lines.
        above = enumerate(lines[: int(number)])
        begin = max((at for at, text in above if HEAD.match(text)), default=0)
        head = "".join(lines[begin : begin + 2])
        # A call may take three lines.
        call = " ".join(lines[int(number) - 3 : int(number) + 2])
        if scenario.name not in head or (label.startswith('"') and label not in call):
            return f"{path.name}:{number} is not {label} of {scenario.name}"
    return ""


def judge(scenario: Scenario) -> Verdict:
    text = listen(scenario)
    told = CHAIN.search(text)
    if told is None:
        line = next((line for line in text.splitlines() if "inturn: " in line), "")
        refusal = scenario.expected.removeprefix("refused: ")
        if refusal != scenario.expected and refusal in text:
            return Verdict("refused", refusal)
        return Verdict("wrong" if line else "silent", line or text.strip()[-300:])
    seconds = float(told[1]) / (1000 if told[2] == "ms" else 1)
    said = brief(told)
    place = wrong_place(scenario, told[0])
    expected = {scenario.expected}
    if scenario.expected.count(" > ") > 1 or " >> " in scenario.expected:
        # The last link to be added may not have been stalled for as long yet.
        expected.add(re.split(" >>? ", scenario.expected, maxsplit=1)[1])
    if said not in expected or place:
        return Verdict("wrong", f"{said} {place}".strip())
    return Verdict("right" if seconds < SOON else "late", said)


def is_as_expected(scenario: Scenario, verdict: Verdict) -> bool:
    if scenario.expected.startswith("silent"):
        return verdict.word == "silent"
    return verdict.word in ("right", "refused")


def compile_c(prefix: Path, out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    program = out / "stuck"
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include"]
    link = [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-linturn", "-lpthread"]
    subprocess.run(
        ["gcc", *flags, *map(str, HERE.glob("*.c")), *link, "-o", str(program)],
        check=True,
        cwd=HERE,
    )
    return program


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--swift", type=Path, required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    scenarios = listed("C", [str(compile_c(given.prefix, given.out))])
    scenarios += listed("Python", [sys.executable, str(HERE / "stuck.py")])
    scenarios += listed("Swift", [str(given.swift)])
    scenarios = [each for each in scenarios if given.filter in each.name]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        verdicts = list(pool.map(judge, scenarios))
    # Again and alone, if the machine may have been too busy.
    for number, (scenario, verdict) in enumerate(zip(scenarios, verdicts)):
        if verdict.word in ("late", "silent") and not is_as_expected(scenario, verdict):
            verdicts[number] = judge(scenario)
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    failed = 0
    for scenario, verdict in zip(scenarios, verdicts):
        counts[scenario.language][verdict.word] += 1
        counts[scenario.language]["new"] += scenario.is_new
        is_right = is_as_expected(scenario, verdict)
        failed += not is_right
        if given.verbose or not is_right:
            print(f"{scenario.language:7}{scenario.name}: {verdict.word}: {verdict.said}")
        if not is_right:
            print(f"       expected: {scenario.expected}")
    words = ("right", "refused", "late", "wrong", "silent", "new")
    print(f"{'':8}" + "".join(f"{word:>9}" for word in words) + "    named")
    for language, count in counts.items():
        named = count["right"] + count["refused"]
        all_of_it = sum(count[word] for word in words[:-1])
        row = "".join(f"{count[word]:9}" for word in words)
        print(f"{language:8}{row}{100 * named / all_of_it:7.1f} %")
    print(f"{len(scenarios) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
