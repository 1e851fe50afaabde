#!/usr/bin/env python3
"""Tests the example redis_streams with a real server and consumers that really die.

    Tests/Examples/redis_test.py NAME=COMMAND...

Each COMMAND is a consumer, and gets the server's port and its own name.  First each of them
handles all messages alone, and prints examples/expected/redis_streams.out.  Then all share the
streams, and one after the other is stopped in the middle of its work and killed; or goes on when it
has lost its streams, and has to end; as it has to when it cannot do its work.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import redis
from redis_server import (
    GROUP,
    LIMIT,
    PARTITIONS,
    connect,
    fill,
    lease,
    running_server,
    set_up,
    stream,
)

EXPECTED = Path(__file__).resolve().parents[2] / "examples/expected/redis_streams.out"
KEYS, EACH = 30, 120
# The numbers of each key's messages that come first, and those that come each time before a
# consumer is stopped to see whether it is in the middle of something.
FIRST = range(EACH // 4)
ATTEMPTS = [range(number, number + 12) for number in range(FIRST.stop, EACH - 12, 12)]
# So many messages are more than a consumer can handle before it asks for its leases again.
MANY = KEYS
# How long a message may take to handle.
MILLISECONDS = 20

Consumers = dict[str, "subprocess.Popen[str]"]  # by name


@dataclass(frozen=True)
class Handled:
    """A message that a consumer says to have handled."""

    stream: str
    id: str
    key: str
    number: int
    consumer: str

    @classmethod
    def parse(cls, line: str) -> Handled:
        where, identity, key, number, consumer = line.split("/")
        return cls(where, identity, key, int(number), consumer)


def check(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"FAILED: {what}")


def wait_until(what: str, condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT
    while not condition():
        check(time.monotonic() < limit, f"waited {LIMIT} s until {what}")
        time.sleep(0.005)


def next_handled(client: redis.Redis, running: Consumers, but: str = "") -> Handled:
    """Waits for the next line in the list; the server has one order of all of them."""
    limit = time.monotonic() + LIMIT
    line: Any = None
    while line is None:
        check(time.monotonic() < limit, f"waited {LIMIT} s for a message to be handled")
        for name, process in running.items():
            check(name == but or process.poll() is None, f"{name} has ended by itself")
        line = client.blpop(["handled"], timeout=1)
    return Handled.parse(line[1])


def pending(client: redis.Redis, partition: int) -> set[tuple[str, str]]:
    """What is not acknowledged of a partition: delivered, or not to be seen by anybody else."""
    entries: Any = client.xpending_range(stream(partition), GROUP, "-", "+", 10_000)
    return {(stream(partition), entry["message_id"]) for entry in entries}


def all_pending(client: redis.Redis) -> set[tuple[str, str]]:
    return set().union(*(pending(client, partition) for partition in range(PARTITIONS)))


def holders(client: redis.Redis) -> list[str]:
    names: Any = client.mget([lease(partition) for partition in range(PARTITIONS)])
    return [name or "" for name in names]


def expire(client: redis.Redis, name: str) -> None:
    """The server has not heard of a consumer for the time of a lease."""
    own = [lease(partition) for partition, holder in enumerate(holders(client)) if holder == name]
    client.delete(*own)
    client.zrem("consumers", name)


@contextlib.contextmanager
def consumers(port: int, commands: dict[str, str]) -> Iterator[Consumers]:
    """Consumers that run; what is left of them at the end is killed."""
    running: Consumers = {}
    try:
        for name, command in commands.items():
            words = ["setpriv", "--pdeathsig", "KILL", *shlex.split(command), str(port), name]
            running[name] = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        yield running
    finally:
        for process in running.values():
            process.kill()
            process.communicate()


def terminate(name: str, process: subprocess.Popen[str]) -> str:
    """Ends a consumer as it wants to be ended; returns what it has printed."""
    process.terminate()
    output, _ = process.communicate(timeout=LIMIT)
    check(process.returncode == 0, f"{name} ended with status {process.returncode}")
    return output


def check_order(handled: list[Handled], each: int, repeatable: set[tuple[str, str]]) -> int:
    """Each key's messages were handled in order, and none is missing; only a repeatable one came
    again.  Returns how many came again."""
    last = dict.fromkeys((f"customer-{key}" for key in range(KEYS)), -1)
    repeats = 0
    for one in handled:
        if one.number <= last[one.key]:
            check((one.stream, one.id) in repeatable, f"acknowledged, and repeated: {one}")
            repeats += 1
        else:
            check(one.number == last[one.key] + 1, f"after {last[one.key]} of its key: {one}")
        last[one.key] = one.number
    check(set(last.values()) == {each - 1}, f"not all were handled: {last}")
    return repeats


def test_leases(port: int) -> None:
    """Only the holder of a lease reads; who takes one hears of it, even if it was its own."""
    client = connect(port)
    set_up(client)
    fill(client, KEYS, range(1), milliseconds=0)
    leases = [lease(partition) for partition in range(PARTITIONS)]
    all_of_them = list(range(PARTITIONS))

    def hold(name: str, *idle: int) -> Any:
        words: Any = ("consumers", *leases, name, 60_000, *idle)
        return client.fcall("inturn_hold", 1 + PARTITIONS, *words)

    def read(name: str, partition: int) -> Any:
        words: Any = (lease(partition), stream(partition), name, GROUP, ">")
        return client.fcall("inturn_read", 2, *words)

    check(hold("a") == [6, [], all_of_them], "a does not take all")
    check(hold("b") == [3, [], []], "b takes what is a's")
    check(hold("a", 4, 5) == [3, [0, 1, 2, 3], []], "a does not give back what is idle")
    check(hold("b") == [3, [], [4, 5]], "b does not take what is free")
    check(read("a", 5) == [] and not all_pending(client), "a reads what is b's")
    check(read("b", 5) != [] and pending(client, 5) != set(), "b does not read")
    check(hold("a", 3) == [3, [0, 1, 2], []], "a does not give back the rest")
    expire(client, "a")
    check(hold("a") == [3, [], [0, 1, 2]], "a is not told that its leases had expired")
    print("leases: ok", flush=True)


def test_alone(port: int, name: str, command: str) -> None:
    """One consumer handles everything once, in each key's order, and acknowledges it."""
    client = connect(port)
    set_up(client)
    fill(client, KEYS, range(20), MILLISECONDS)
    with consumers(port, {name: command}) as running:
        handled = [next_handled(client, running) for _ in range(KEYS * 20)]
        check_order(handled, 20, set())
        wait_until("all is acknowledged", lambda: not all_pending(client))
        output = terminate(name, running[name])
        check(output == EXPECTED.read_text(), f"{name} printed: {output}")
    check(holders(client) == [""] * PARTITIONS, "a lease was left behind")
    check(client.llen("handled") == 0, "something was handled twice")
    print(f"{name}: ok", flush=True)


def stop_in_the_middle(
    client: redis.Redis, name: str, running: Consumers, handled: list[Handled]
) -> set[tuple[str, str]]:
    """Stops a consumer that has not acknowledged many messages, of which it has handled one; after
    some attempts, one that may have handled none of them.  Returns what it has not acknowledged,
    and leaves nobody without work: the rest of the messages has come then."""
    victim = running[name]
    for attempt, numbers in enumerate(ATTEMPTS):
        fill(client, KEYS, numbers, MILLISECONDS)
        victim.send_signal(signal.SIGCONT)
        handled.append(next_handled(client, running))
        while handled[-1].consumer != name:
            handled.append(next_handled(client, running))
        victim.send_signal(signal.SIGSTOP)
        os.waitpid(victim.pid, os.WUNTRACED)
        # By the second answer the server has read all that the stopped one had sent.
        client.ping()
        client.ping()
        while client.llen("handled"):
            handled.append(next_handled(client, running))
        own = [index for index, holder in enumerate(holders(client)) if holder == name]
        left = set().union(*(pending(client, partition) for partition in own))
        done = {(one.stream, one.id) for one in handled if one.consumer == name}
        if len(left) >= MANY and (done & left or attempt >= len(ATTEMPTS) // 2):
            fill(client, KEYS, range(numbers.stop, EACH), MILLISECONDS)
            return left
    raise SystemExit(f"FAILED: {name} is never in the middle of something")


def share_until(
    client: redis.Redis, running: Consumers, victim: str
) -> tuple[list[Handled], set[tuple[str, str]]]:
    """Lets consumers share what there is, until a quarter is handled and one of them is stopped.
    Returns what is handled, and what that one has not acknowledged."""
    share = PARTITIONS // len(running)
    wait_until(
        "the partitions are shared",
        lambda: all(holders(client).count(name) == share for name in running),
    )
    fill(client, KEYS, FIRST, MILLISECONDS)
    handled = [next_handled(client, running) for _ in range(KEYS * len(FIRST))]
    check({one.consumer for one in handled} == set(running), "somebody does nothing")
    return handled, stop_in_the_middle(client, victim, running, handled)


def finish(
    client: redis.Redis, running: Consumers, victim: str, handled: list[Handled]
) -> list[Handled]:
    """Waits until the others have handled and acknowledged everything, and ends them."""
    while len({(one.stream, one.id) for one in handled}) < KEYS * EACH:
        handled.append(next_handled(client, running, but=victim))
    wait_until("all is acknowledged", lambda: not all_pending(client))
    while client.llen("handled"):
        handled.append(next_handled(client, running, but=victim))
    check(victim not in holders(client), f"{victim} still has a lease")
    for name in set(running) - {victim}:
        terminate(name, running[name])
    return handled


def test_killed(port: int, victim: str, commands: dict[str, str]) -> None:
    """Several share the load; killing one loses nothing, and repeats only what it had not
    acknowledged."""
    client = connect(port)
    set_up(client)
    with consumers(port, commands) as running:
        handled, left = share_until(client, running, victim)
        running[victim].kill()
        running[victim].wait(LIMIT)
        repeats = check_order(finish(client, running, victim, handled), EACH, left)
    shares = Counter(one.consumer for one in handled)
    print(
        f"{victim} killed after {shares[victim]} messages: {len(left)} were not acknowledged, "
        f"{repeats} of them repeated; handled by each: {dict(shares)}",
        flush=True,
    )


def test_paused(port: int, victim: str, commands: dict[str, str]) -> None:
    """One that stands still until others have its streams ends when it goes on."""
    client = connect(port)
    set_up(client)
    with consumers(port, commands) as running:
        handled, _ = share_until(client, running, victim)
        others = set(commands) - {victim}
        expire(client, victim)
        wait_until("the others have its streams", lambda: set(holders(client)) == others)
        running[victim].send_signal(signal.SIGCONT)
        running[victim].communicate(timeout=LIMIT)
        check(running[victim].returncode > 0, f"{victim} has lost its leases and does not say so")
        finish(client, running, victim, handled)
    print(f"{victim} paused: it ended with status {running[victim].returncode}", flush=True)


def test_hindered(port: int, name: str, command: str) -> None:
    """One that cannot do what a message is for ends, and acknowledges nothing."""
    client = connect(port)
    set_up(client)
    client.set("handled", "not a list")
    fill(client, KEYS, range(1), MILLISECONDS)
    with consumers(port, {name: command}) as running:
        running[name].communicate(timeout=LIMIT)
        check(running[name].returncode > 0, f"{name} ended with {running[name].returncode}")
    read = 0
    for partition in range(PARTITIONS):
        groups: Any = client.xinfo_groups(stream(partition))
        read += groups[0]["entries-read"] or 0
    check(0 < read == len(all_pending(client)), f"{name} has acknowledged something")
    print(f"{name} hindered: it ended, and acknowledged none of {read} messages", flush=True)


def main() -> None:
    commands = dict(argument.split("=", 1) for argument in sys.argv[1:])
    with running_server() as port:
        test_leases(port)
        for name, command in commands.items():
            test_alone(port, name, command)
        for name in commands:
            test_killed(port, name, commands)
        for name in commands:
            test_paused(port, name, commands)
        for name, command in commands.items():
            test_hindered(port, name, command)


if __name__ == "__main__":
    main()
