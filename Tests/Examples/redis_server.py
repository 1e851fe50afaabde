#!/usr/bin/env python3
"""A Redis server for the example redis_streams, with messages in it.

    Tests/Examples/redis_server.py

Starts redis-server on a free port of the loopback interface, in a temporary folder and without
persistence; prints the port, and serves until its standard input ends.  One consumer is busy for
about twenty seconds with the messages.
"""

from __future__ import annotations

import contextlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import redis

FUNCTIONS = Path(__file__).resolve().parents[2] / "examples/redis_streams.lua"
PARTITIONS = 6
GROUP = "workers"
# How long any of the answers may take, in seconds.
LIMIT = 30


def stream(partition: int) -> str:
    return f"orders:{partition}"


def lease(partition: int) -> str:
    return f"lease:{partition}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_ready(server: subprocess.Popen[str]) -> bool:
    """False: it has ended, for example because somebody else has got the port."""
    assert server.stdout is not None
    return any(re.search("Ready to accept connections", line) for line in server.stdout)


@contextlib.contextmanager
def running_server() -> Iterator[int]:
    """A server, and its port.  It is stopped at the end, and dies with this process."""
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(5):
            port = free_port()
            command = ["setpriv", "--pdeathsig", "KILL", "redis-server"]
            command += ["--bind", "127.0.0.1", "--port", str(port), "--dir", folder]
            command += ["--save", "", "--appendonly", "no"]
            server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            try:
                if wait_until_ready(server):
                    yield port
                    return
            finally:
                server.kill()
                server.communicate()
        raise RuntimeError("redis-server does not start")


def connect(port: int) -> redis.Redis:
    return redis.Redis(port=port, decode_responses=True, socket_timeout=LIMIT)


def set_up(client: redis.Redis) -> None:
    """Empties the server, and makes the streams, their group and the functions."""
    client.flushall()
    client.function_load(FUNCTIONS.read_text(), replace=True)
    for partition in range(PARTITIONS):
        client.xgroup_create(stream(partition), GROUP, id="0", mkstream=True)


def fill(client: redis.Redis, keys: int, numbers: range, milliseconds: int) -> None:
    """Adds messages: those of different keys mixed, those of one key with ascending numbers.  Each
    takes up to so many milliseconds."""
    chance = random.Random(numbers.start)
    order = [key for key in range(keys) for _ in numbers]
    chance.shuffle(order)
    following = [iter(numbers) for _ in range(keys)]
    with client.pipeline(transaction=False) as pipeline:
        for key in order:
            name = f"customer-{key}"
            partition = zlib.crc32(name.encode()) % PARTITIONS
            takes = chance.randint(0, milliseconds)
            message: Any = {"key": name, "number": next(following[key]), "milliseconds": takes}
            pipeline.xadd(stream(partition), message)
        pipeline.execute()


def main() -> None:
    with running_server() as port:
        client = connect(port)
        set_up(client)
        fill(client, keys=30, numbers=range(200), milliseconds=200)
        print(port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
