#!/usr/bin/env python3
"""Tests the example ordered_uploads with a real server, which says in which order files came.

    Tests/Examples/uploads_test.py COMMAND...

Each COMMAND uploads the files, and gets the server's address.
"""

from __future__ import annotations

import concurrent.futures
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

from upload_server import serve

EXPECTED = Path(__file__).resolve().parents[2] / "examples/expected/ordered_uploads.out"
LIMIT = 60  # seconds, for each program


def put(address: str, number: int) -> None:
    body = f"contents of {number}".encode()
    request = urllib.request.Request(f"{address}/files/{number}", body, method="PUT")
    with urllib.request.urlopen(request, timeout=LIMIT):
        pass


def check_that_the_server_mixes_up(address: str) -> None:
    """Files that are sent at once are stored in another order: what the example shows is the
    queue's doing."""
    numbers = range(1, 21)
    with concurrent.futures.ThreadPoolExecutor(len(numbers)) as threads:
        uploads = [threads.submit(put, address, number) for number in numbers]
    for upload in uploads:
        upload.result()
    with urllib.request.urlopen(f"{address}/files", timeout=LIMIT) as response:
        line = response.readline().decode()
    stored = [int(word) for word in line.split()[1:]]
    if sorted(stored) != list(numbers) or stored == list(numbers):
        raise SystemExit(f"FAILED: uploads at once should all arrive, and be mixed up: {line}")


def main() -> None:
    server = serve()
    address = f"http://127.0.0.1:{server.server_port}"
    check_that_the_server_mixes_up(address)
    for command in sys.argv[1:]:
        words = [*shlex.split(command), address]
        run = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
        if run.returncode != 0 or run.stdout != EXPECTED.read_text():
            raise SystemExit(f"FAILED with status {run.returncode}: {command}\n{run.stdout}")
    server.shutdown()
    print("ordered_uploads: in order, one at a time")


if __name__ == "__main__":
    main()
