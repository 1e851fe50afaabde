#!/usr/bin/env python3
"""Files reach a server in order, one at a time.

    ordered_uploads.py ADDRESS       (printed by Tests/Examples/upload_server.py)

What to look at: the work starts an upload, on a thread of its own, and returns; the thread ends the
operation when the server has answered, and only then does the next upload start.
"""

from __future__ import annotations

import functools
import http.client
import sys
import threading
import urllib.request
from pathlib import Path

try:
    import inturn
except ModuleNotFoundError:  # it is not installed: use the one of this repository
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python/src"))
    import inturn

FILES = 20
LIMIT = 20  # seconds, for each request


def request(address: str, contents: bytes | None = None) -> http.client.HTTPResponse:
    method = "GET" if contents is None else "PUT"
    made = urllib.request.Request(address, contents, method=method)
    response: http.client.HTTPResponse = urllib.request.urlopen(made, timeout=LIMIT)
    return response


def upload(address: str, number: int, token: inturn.Token) -> None:
    """Runs on a thread.  The end of the block ends the operation: finished, or failed with what the
    block raises, such as a server's refusal."""
    with token, request(f"{address}/files/{number}", f"contents of {number}".encode()):
        pass


def start_upload(address: str, number: int, token: inturn.Token) -> None:
    """Called as the operation's work."""
    threading.Thread(target=upload, args=(address, number, token)).start()


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: ordered_uploads.py ADDRESS")
    address = sys.argv[1]
    ends: list[inturn.End] = []
    with inturn.FIFOQueue("uploads") as uploads:
        for number in range(1, FILES + 1):
            work = functools.partial(start_upload, address, number)
            uploads.options(label=str(number), on_end=ends.append).enqueue(work)

    for end in ends:
        if end.exception is not None:
            print(f"{end.label}: {end.exception}", file=sys.stderr)
    stored = sum(end.outcome is inturn.Outcome.FINISHED for end in ends)
    print(f"{stored} of {FILES} files uploaded; the server says:")
    try:
        with request(f"{address}/files") as response:
            print(response.read().decode(), end="")
    except (OSError, ValueError) as error:
        sys.exit(f"{address}: {error}")


if __name__ == "__main__":
    main()
