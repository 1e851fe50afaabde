#!/usr/bin/env python3
"""A server for the example ordered_uploads: it takes its time over some files.

    Tests/Examples/upload_server.py

Prints its address, for example http://127.0.0.1:40123, and serves until its standard input ends.
A PUT of /files/NAME stores a file, after a random time.  A GET of /files lists the names in the
order in which they were stored, and how many uploads were under way at a time at most.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Store:
    """What has been uploaded."""

    def __init__(self, seed: int = 1) -> None:
        self._lock = threading.Lock()  # protects the rest
        self._names: list[str] = []
        self._under_way = 0
        self._most = 0
        self._random = random.Random(seed)

    def begin(self) -> float:
        """An upload begins; returns how long it takes, in seconds: the first one longest."""
        with self._lock:
            self._under_way += 1
            self._most = max(self._most, self._under_way)
            return self._random.uniform(0, 0.02) if self._names or self._under_way > 1 else 0.05

    def end(self, name: str) -> None:
        with self._lock:
            self._under_way -= 1
            self._names.append(name)

    def describe(self) -> str:
        with self._lock:
            return f"stored: {' '.join(self._names)}\nat most {self._most} at a time\n"

    def clear(self) -> None:
        with self._lock:
            self._names, self._most = [], 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # What is written goes out at once, the header and the body separately.
    disable_nagle_algorithm = True
    store = Store()

    def do_PUT(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length)
        name = self.path.rpartition("/")[2]
        if body.decode() != f"contents of {name}":
            return self.answer(400, f"not the contents of {name}\n")
        time.sleep(self.store.begin())
        self.store.end(name)
        return self.answer(201, "")

    def do_GET(self) -> None:
        self.answer(200, self.store.describe())
        self.store.clear()

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is logged."""


class Server(ThreadingHTTPServer):
    # How many connections may wait to be accepted: more than the tests open at a time.
    request_queue_size = 128


def serve() -> Server:
    """Starts a server on a free port, in threads of its own."""
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    server = serve()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
