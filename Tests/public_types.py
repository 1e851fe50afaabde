#!/usr/bin/env python3
"""Counts the public types of the Swift modules, nested ones and type aliases too, and prints them.
Fails when there are more than a reader can keep in mind.

What a protocol asks for by a name, such as an iterator, would count as well: none is left.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = (
    "Inturn",
    "AsyncQueue",
    "AsyncOperation",
    "InteractionQueue",
    "AsyncTaskPerformer",
    "ConcurrentKVO",
)
MOST = 50
TYPE = re.compile(
    r"^(?P<indent> *)(?:@\w+(?:\([^)]*\))? )*(?P<access>public |open )?(?:final |indirect )*"
    r"(?P<kind>class|struct|enum|actor|protocol|typealias|extension) (?P<name>[\w.]+)"
)


def public_types(path: Path) -> list[str]:
    """The full names of a file's public types, each in those that it is nested in."""
    found = []
    outer: list[tuple[int, str]] = []
    for line in path.read_text().splitlines():
        if not (match := TYPE.match(line)):
            continue
        indent, name = len(match["indent"]), match["name"]
        outer = [(at, of) for at, of in outer if at < indent]
        full = ".".join([of for _, of in outer] + [name])
        if match["access"] and match["kind"] != "extension":
            found.append(full)
        outer.append((indent, name))
    return found


def main() -> int:
    count = 0
    for module in MODULES:
        names = sorted(
            name
            for path in (ROOT / "Sources" / module).rglob("*.swift")
            for name in public_types(path)
        )
        if not names:
            sys.exit(f"no public type was found in Sources/{module}")
        count += len(names)
        print(f"{module} ({len(names)}): {', '.join(names)}")
    print(f"{count} public types; at most {MOST} are allowed")
    return count > MOST


if __name__ == "__main__":
    sys.exit(main())
