"""Checks what README.md and the pages beside it say without running anything.

README is short, its badges are true, and the tests that it names for what it promises exist; links
lead somewhere, also in the guide, which links to each program that it shows; and CONTRIBUTING names
each folder of the source tree.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from snippets import ROOT

PAGES = (
    "README.md",
    "CHANGELOG.md",
    ".github/CONTRIBUTING.md",
    ".github/SECURITY.md",
    "examples/README.md",
)
# The badges, and where each comes from: a file, and what it says there.
BADGES = (
    ("version {}.{}.{}", "include/inturn.h", r"#define INTURN_VERSION_\w+ (\d+)$"),
    ("{} licence", "LICENSE", r"^(\w+) License$"),
    ("library under {} kB", "bindings/c/check-library.sh", r"^check_size (\d+)000$"),
    ("x86-64 wheel under {} kB", "bindings/python/tests/test_package.py", r"st_size < (\d+)_000$"),
    ("{parts} test suites", "Tests/run", r"^  \[(?!setup)([\w-]+)\]=\""),
)
GUIDE = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/guide/*/*.md"))
INCLUDED = re.compile(r"^```\{literalinclude\} (?!.*/expected/)(\S+)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?://)([^)\s]+)\)")
LINES = 250
NAMED = ("Sources/*", "Sources/InturnCore/*", "Tests/*", "bindings/*", "examples/*")
NOT_NAMED = {"__pycache__"}


def promises(readme: str) -> Iterator[str]:
    """What is promised without a test, which ``<!-- by: FILE, SCENARIO -->`` names."""
    if (length := readme.count("\n")) > LINES:
        yield f"README.md has {length} lines, over {LINES}"
    scenarios = "".join(path.read_text() for path in (ROOT / "Tests/Model/scenarios").glob("*.cpp"))
    (promised,) = re.findall(r"^## What is promised\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)
    for promise in re.findall(r"^- (.*?)$(?=\n-|\n\n)", promised, re.MULTILINE | re.DOTALL):
        tests = re.search(r"<!-- by: (.*) -->$", promise)
        if not tests:
            yield f"README.md names no test for: {promise}"
        for test in tests[1].split(", ") if tests else []:
            if not (ROOT / test).exists() and f"SCENARIO({test})" not in scenarios:
                yield f"README.md names the test {test}, which is not there"


def badges(readme: str) -> Iterator[str]:
    """What the badges say wrongly."""
    shown = re.findall(r"`([^`]+)`", readme.split("\n\n")[2])
    right = []
    for badge, file, pattern in BADGES:
        said = re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        right.append(badge.format(*said, parts=len(set(said))))
    if shown != right:
        yield f"README.md's badges are {shown}, and should be {right}"


def links(page: str) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    path = ROOT / page
    for match in LINK.finditer(path.read_text(encoding="utf-8")):
        file, _, anchor = match[1].partition("#")
        target = (path.parent / file) if file else path
        if not target.exists():
            yield f"{page}: there is no {file}"
        elif anchor:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            if anchor not in {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}:
                yield f"{page}: {file} has no heading #{anchor}"


def unlinked(page: str) -> Iterator[str]:
    """The programs that a page of the guide shows on the site, and does not link to."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for program in dict.fromkeys(INCLUDED.findall(text)):
        if f"]({program})" not in text:
            yield f"{page} has no link to {program}"


def unnamed() -> Iterator[str]:
    """The folders that CONTRIBUTING does not name, and those that it names and nobody has."""
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (tree,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    named = set()
    above: list[str] = []
    for line in tree.splitlines():
        if match := re.match(r"( *)([\w.+-]+(?:/[\w.+-]+)*/?)(?: |$)", line):
            depth = len(match[1]) // 2
            above = [*above[:depth], match[2].rstrip("/")]
            named.add("/".join(above))
    there = {
        str(path.relative_to(ROOT))
        for pattern in NAMED
        for path in ROOT.glob(pattern)
        if path.is_dir() and path.name not in NOT_NAMED
    }
    for path in sorted(there - named):
        yield f"CONTRIBUTING.md does not name {path}"
    for path in sorted(named):
        if not (ROOT / path).exists():
            yield f"CONTRIBUTING.md names {path}, which is not there"


def main() -> int:
    """Checks all; returns the exit status."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    faults = [
        *promises(readme),
        *badges(readme),
        *(fault for page in (*PAGES, *GUIDE) for fault in links(page)),
        *(fault for page in GUIDE for fault in unlinked(page)),
        *unnamed(),
    ]
    print("\n".join(faults) or "the pages: promises, links and folders are as they say")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
