"""Checks what README.md and the pages beside it say without running anything.

The three programs side by side are in README's first twenty lines, and are lines of the whole
programs; links lead somewhere; and CONTRIBUTING names each folder of the source tree.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from snippets import FENCE, HERE, ROOT

PAGES = ("README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", "examples/README.md")
LINK = re.compile(r"\]\((?!https?://)([^)\s]+)\)")
LANGUAGES = {"Swift": "swift", "C": "c", "Python": "python"}
# What the table of README calls its two halves, and what the whole programs print of them.
HALVES = {
    "goes wrong: ": "without: ",
    "goes right, with Inturn: ": "with:    ",
}
NAMED = ("Sources/*", "Sources/InturnCore/*", "Tests/*", "bindings/*", "examples/*")
NOT_NAMED = {"__pycache__"}


def side_by_side(readme: str) -> Iterator[str]:
    """What is wrong with the table of the three programs."""
    if "\n```\n" not in "".join(readme.splitlines(keepends=True)[:20]):
        yield "README.md: the three programs are not in the first 20 lines"
    blocks = {(m[1], m[2]): m[3] for m in FENCE.finditer(readme)}
    header, *lines = blocks["text", None].splitlines()
    starts = [re.search(rf"\b{name}\b", header) for name in LANGUAGES]
    columns = [match.start() for match in starts if match] + [None]
    halves = [half for line in lines for half in HALVES if line.startswith(half)]
    if halves != list(HALVES) or len(columns) != len(LANGUAGES) + 1:
        yield f"README.md: the three programs have the halves {halves}, the columns {columns}"
        return
    for place, language in enumerate(LANGUAGES.values()):
        whole = [line.strip() for line in blocks[language, "uploads"].splitlines()]
        printed = (HERE / f"uploads.{language}.out").read_text(encoding="utf-8")
        part: list[str] = []
        parts = [part]
        for line in lines:
            half = next((half for half in HALVES if line.startswith(half)), None)
            if half is not None:
                part = []
                parts.append(part)
                if f"{HALVES[half]}{line.removeprefix(half)}\n" not in printed:
                    yield f"README.md: the program in {language} does not print as '{line}' says"
            elif cell := line[columns[place] : columns[place + 1]].strip():
                part.append(cell)
        for part in parts[1:]:
            found = any(whole[i : i + len(part)] == part for i in range(len(whole)))
            if not part or not found:
                yield f"README.md: the whole program in {language} has not {part}"


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
        *side_by_side(readme),
        *(fault for page in PAGES for fault in links(page)),
        *unnamed(),
    ]
    print("\n".join(faults) or "the pages: programs, links and folders are as they say")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
