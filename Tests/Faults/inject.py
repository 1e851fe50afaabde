"""Runs each of the C tests while a system call of the library fails.

First each test is run once, alone, and preload.c counts the library's calls of each kind. Then it
is run again for the Nth call of a kind, which fails once, or from which on all fail, for a while or
for ever. A run passes if the test does, or if the library refuses a call with NO_MEMORY after a
fault that explains it. If no thread can be started any more, and something that the test waits for
does not come, the run counts as starved, which is printed: the library waits as well, for ever.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import mmap
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

# In preload.c's order.
KINDS = ("thread", "event", "wait", "wake", "same", "late", "memory")
COUNTS = struct.Struct(f"{len(KINDS) + 1}Q")
REFUSED = 75
# Only these faults deprive the library of something that it needs.
EXPLAINS_A_REFUSAL = {"thread", "event", "memory"}
# `--long` takes each of the first calls of a kind, and as many of the later ones at random.
EACH = 200
# What the harness prints when something does not happen.
LATE = re.compile(
    r"waited \d+ s for|INTURN_E_TIMED_OUT, not|did not end within its limit|left behind"
    r"|poll\(.* is 0, not 1|status\) is 14, not 15|is not empty: \d+ accepted"
)
# What was found by other means than the sample, which draws these faults rarely: they are always
# injected.
FOUND = {
    "idle an_idle_process_is_not_woken": "thread 3 ever",
    "rings a_ring_through_the_main_thread_is_refused_to_one": "thread 2 ever",
    "stuck_chains each_link_names_the_line_that_has_enqueued_it": "thread 3 ever",
    "stuck_default the_default_prints_a_line_after_a_second_on_a_terminal": "thread 3 ever",
    "stuck_life the_handler_may_end_what_is_stuck": "thread 3 ever",
    "stuck_values each_wait_for_an_observer_is_told": "thread 1 while",
    "wait_sites the_chain_leads_through_a_wait": "thread 6 while",
}
# When the faults of these kinds occur, besides "once" and "ever".
WHEN = dict.fromkeys(EXPLAINS_A_REFUSAL, ("once", "while", "ever"))

# Tests that library calls without memory still end, by a signal: `wait` looks for a ring through
# thousands of operations, and lists them. This must not grow; `--long` refuses entries that are no
# longer needed.
STILL_ENDED = {"rings an_operation_that_comes_after_many_is_looked_at_wholly"}

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    number: int
    when: str

    def __str__(self) -> str:
        return f"{self.kind} {self.number} {self.when}"


@dataclasses.dataclass(frozen=True)
class Scenario:
    program: pathlib.Path
    test: str

    def __str__(self) -> str:
        return f"{self.program.name} {self.test}"


@dataclasses.dataclass
class Outcome:
    verdict: str
    output: str
    calls: dict[str, int]


class Runner:
    def __init__(self, preload: pathlib.Path, limit: int) -> None:
        self.preload = preload
        self.limit = limit

    def run(self, scenario: Scenario, fault: Fault | None) -> Outcome:
        environment = dict(os.environ, LD_PRELOAD=str(self.preload), INTURN_TEST_REFUSALS="1")
        environment.setdefault("INTURN_TEST_SCALE", "0.001")
        if fault:
            environment["INTURN_FAULT"] = str(fault)
        # A test that is refused a call leaves its files behind.
        with tempfile.TemporaryFile() as counts, tempfile.TemporaryDirectory() as folder:
            environment["TMPDIR"] = folder
            counts.truncate(COUNTS.size)
            environment["INTURN_FAULT_COUNTS"] = f"/proc/self/fd/{counts.fileno()}"
            process = subprocess.Popen(
                [str(scenario.program), scenario.test],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[counts.fileno()],
                start_new_session=True,
                errors="replace",
            )
            try:
                output, _ = process.communicate(timeout=self.limit)
                status: int | None = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                status = None
            with mmap.mmap(counts.fileno(), COUNTS.size, access=mmap.ACCESS_READ) as memory:
                *calls, faults = COUNTS.unpack(memory[:])
        verdict = judge(status, output, fault, faults)
        return Outcome(verdict, output, dict(zip(KINDS, calls, strict=True)))


def judge(status: int | None, output: str, fault: Fault | None, faults: int) -> str:
    """The verdict: "ok", "refused", "starved", or what is wrong."""
    has_no_threads = fault and faults and fault.kind == "thread" and fault.when == "ever"
    if has_no_threads and (status is None or (status == 1 and LATE.search(output))):
        return "starved"
    if status is None:
        return "it hangs"
    if status == 0:
        return "ok"
    if status == REFUSED:
        if fault and faults and fault.kind in EXPLAINS_A_REFUSAL:
            return "refused"
        return "it is refused, and no fault explains that"
    if status < 0:
        return f"it ends by {signal.Signals(-status).name}"
    return f"it ends with status {status}"


def scenarios(programs: list[pathlib.Path], sources: pathlib.Path) -> list[Scenario]:
    found = []
    for program in programs:
        text = (sources / f"{program.name}.c").read_text()
        text = re.sub(r"#define.*", "", text)
        found += [Scenario(program, test) for test in re.findall(r"\bTEST\((\w+)\)", text)]
    return found


def faults_of(calls: dict[str, int], chance: random.Random, long: bool) -> list[Fault]:
    """All faults for a scenario with these numbers of calls; without `long`, one of each kind."""
    chosen = []
    for kind, count in calls.items():
        ways = WHEN.get(kind, ("once", "ever"))
        numbers = list(range(1, min(count, EACH) + 1))
        if count > EACH:
            numbers += [chance.randint(EACH + 1, count) for _ in range(EACH)]
        if long:
            chosen += [Fault(kind, number, when) for number in numbers for when in ways]
        elif numbers:
            # A test that starves takes its whole limit, so this is chosen rarely.
            often = ways[:2] if kind == "thread" and chance.random() < 0.95 else ways
            chosen.append(Fault(kind, chance.choice(numbers), chance.choice(often)))
    chance.shuffle(chosen)
    return chosen


def fault_of(text: str) -> Fault:
    kind, number, when = text.split()
    return Fault(kind, int(number), when)


def complain(scenario: Scenario, fault: Fault | None, outcome: Outcome) -> None:
    lines = outcome.output.strip().splitlines()[-6:]
    print(f"FAILED {scenario} with fault '{fault}': {outcome.verdict}")
    for line in lines:
        print(f"    {line}")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--preload", type=pathlib.Path, required=True)
    parser.add_argument("--sources", type=pathlib.Path, default=HERE.parent / "C")
    parser.add_argument("--filter", default="", help="part of 'PROGRAM TEST'")
    parser.add_argument("--kind", choices=KINDS, help="only this kind of fault")
    parser.add_argument("--fault", help="only this one, as 'thread 1 once'")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, help="begins no fault after so long")
    parser.add_argument("--limit", type=int, default=30, help="seconds for one run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--long", action="store_true", help="every N")
    arguments = parser.parse_args()

    programs = sorted(path for path in arguments.programs.iterdir() if os.access(path, os.X_OK))
    all_scenarios = [
        s for s in scenarios(programs, arguments.sources) if arguments.filter in str(s)
    ]
    chance = random.Random(arguments.seed)
    chance.shuffle(all_scenarios)
    print(f"{len(all_scenarios)} tests, seed {arguments.seed}", flush=True)
    runner = Runner(arguments.preload, arguments.limit)
    # Not all of these tests pass without memory yet, so this has to be asked for by name. memory.c
    # and limit.c test what is guaranteed.
    if arguments.kind:
        kinds = {arguments.kind}
    else:
        kinds = set(KINDS) if arguments.fault else set(KINDS) - {"memory"}
    seed = arguments.seed
    tally = dict.fromkeys(("ok", "refused", "starved", "known", "failed"), 0)
    ended = set()

    def count(scenario: Scenario, fault: Fault | None, outcome: Outcome) -> None:
        is_memory = fault is not None and fault.kind == "memory"
        if is_memory and str(scenario) in STILL_ENDED and "SIG" in outcome.verdict:
            outcome.verdict = "known"
            ended.add(str(scenario))
        known = outcome.verdict in tally
        tally[outcome.verdict if known else "failed"] += 1
        if not known:
            complain(scenario, fault, outcome)

    def plain_calls(scenario: Scenario) -> dict[str, int]:
        """Runs a scenario without a fault, in a process of its own."""
        plain = runner.run(scenario, None)
        count(scenario, None, plain)
        return plain.calls

    def explore(scenario: Scenario, calls: dict[str, int]) -> int:
        """Runs all chosen faults of one scenario, one after the other."""
        if time.monotonic() > end and str(scenario) not in FOUND:
            return 0
        if arguments.fault:
            faults = [fault_of(arguments.fault)]
        else:
            own = random.Random(f"{seed} {scenario}")
            faults = faults_of(calls, own, arguments.long)
        if str(scenario) in FOUND and not arguments.fault and "thread" in kinds:
            fault = fault_of(FOUND[str(scenario)])
            count(scenario, fault, runner.run(scenario, fault))
        for fault in faults:
            if fault.kind in kinds:
                if time.monotonic() > end:
                    break
                count(scenario, fault, runner.run(scenario, fault))
        return 1

    # A test that is renamed would no longer be found.
    if not arguments.filter and FOUND.keys() - {str(each) for each in all_scenarios}:
        print("FAILED a test in FOUND is gone")
        tally["failed"] += 1
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        calls: list[dict[str, int]] = [{}] * len(all_scenarios)
        if not arguments.fault:
            calls = list(pool.map(plain_calls, all_scenarios))
        end = time.monotonic() + (arguments.seconds or float("inf"))
        reached = sum(pool.map(explore, all_scenarios, calls))
    print(f"{reached} of {len(all_scenarios)} tests reached")
    asks_all = arguments.long and arguments.kind == "memory" and not arguments.filter
    for name in STILL_ENDED - ended if asks_all else ():
        print(f"FAILED {name} is in STILL_ENDED in vain")
        tally["failed"] += 1
    print(", ".join(f"{count} {verdict}" for verdict, count in tally.items()))
    print(f"{sum(tally.values()) - tally['failed']} passed, {tally['failed']} failed")
    return 1 if tally["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
