"""Makes the site's Swift reference of what DocC writes: a page for each article and each type.

    swift_pages.py ARCHIVES OUTPUT

ARCHIVES is a folder with an archive for each module.  DocC writes a Markdown file for each symbol.
A type's page gets those of its members, too: initialisers first, then by name.  Links become links
of the site, which checks them.  Operators are left out: they compare.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

METADATA = re.compile(r"\A<!--\n(.*?)\n-->\s*", re.DOTALL)
LINK = re.compile(r"\[([^\]\n]*)\]\(/documentation/((?:[^()\s]|\([^()\s]*\))+)\)")
BARE_LINK = re.compile(r"``doc://[^/]*/documentation/([^`]*)``")
# What has a page of its own; all else is told on its type's, or its module's.
PAGES = {"Framework", "Class", "Structure", "Enumeration", "Protocol", "article"}


@dataclass
class Entry:
    """What DocC says of a symbol, or an article."""

    path: str  # Module/Type/member
    kind: str
    text: str
    below: list[Entry] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def told(self, known: set[str], level: int = 1) -> str:
        """The text with its members', where titles begin at a level."""

        def refer(path: str, text: str) -> str:
            return f"[{text}](#{label_of(path)})" if label_of(path) in known else text

        text = LINK.sub(lambda match: refer(match[2], match[1]), self.text)
        text = BARE_LINK.sub(lambda match: refer(match[1], f"`{match[1].split('/')[-1]}`"), text)
        text = re.sub(r"^#", "#" * level, text, flags=re.MULTILINE)
        members = sorted(
            (entry for entry in self.below if entry.kind not in PAGES),
            key=lambda entry: (entry.kind != "Initializer", entry.name),
        )
        return "\n\n".join(
            [f"({label_of(self.path)})=\n{text}", *(m.told(known, level + 1) for m in members)]
        )

    def write(self, output: Path, known: set[str]) -> None:
        """Writes its page, and those below it."""
        pages = [entry for entry in self.below if entry.kind in PAGES]
        tree = "".join(f"{self.name}/{page.name}\n" for page in pages)
        contents = f"\n\n```{{toctree}}\n:hidden:\n{tree}```" if tree else ""
        file = output / f"{self.path}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{self.told(known)}{contents}\n", encoding="utf-8")
        for page in pages:
            page.write(output, known)


def label_of(path: str) -> str:
    """The name of a place in the site.  DocC takes capitals for small letters, and so does this."""
    return "swift-" + re.sub(r"[^a-z0-9]", "-", path.lower())


def plain(text: str) -> str:
    """DocC's Markdown as the site's: what it sets off is set off in words."""
    text, headed = re.subn(r"^## (?:Overview|Discussion)\n+", "", text, flags=re.MULTILINE)
    if headed:
        text = re.sub(r"^###", "##", text, flags=re.MULTILINE)
    text = re.sub(r"^> (\w+): ", r"*\1:* ", text, flags=re.MULTILINE)
    text = re.sub(r"^> ?", "", text, flags=re.MULTILINE)
    before, fence, after = text.partition("```\n")  # of the declaration
    return f"{before}```swift\n{after}" if fence and "```" not in before else text


def read(archives: Path) -> Iterator[Entry]:
    """What the archives say; nothing is said of what a type has from a protocol."""
    for file in sorted(archives.glob("*/data/documentation/**/*.md")):
        source = file.read_text(encoding="utf-8")
        match = METADATA.match(source)
        assert match is not None, f"{file} has no metadata"
        about = json.loads(match[1])
        is_inherited = about["role"] == "collectionGroup" and "Implementations" in about["title"]
        if is_inherited or about["role"] == "Operator":
            continue
        text = plain(source[match.end() :].strip())
        if about["documentType"] == "symbol":
            text = re.sub(r"\A# (.*)", r"# `\1`", text)
        kind = "article" if about["role"] == "collectionGroup" else about["role"]
        yield Entry(about["identifier"].removeprefix("/documentation/"), kind, text)


def main() -> None:
    """Writes the pages."""
    archives, output = map(Path, sys.argv[1:])
    entries = {entry.path: entry for entry in read(archives)}
    for entry in entries.values():
        if entry.kind != "Framework":
            entries[entry.path.rpartition("/")[0]].below.append(entry)
    known = {label_of(path) for path in entries}
    for entry in entries.values():
        if entry.kind == "Framework":
            entry.write(output, known)


if __name__ == "__main__":
    main()
