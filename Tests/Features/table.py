"""The table of features: which kind of queue has what, in which language.

    table.py                    prints README's part of it
    table.py --check README     whether README has that, between its marks
    table.py --seen LANGUAGE    reads what a program of that language has seen, as features.c
                                says it, and compares

features.tsv is the table; the last column says where a language differs, as in
"swift fifo no".
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

KINDS = ("fifo", "actor", "interaction", "concurrent")
BEGIN, END = "<!-- features -->\n", "<!-- /features -->"


def rows() -> list[list[str]]:
    lines = (Path(__file__).parent / "features.tsv").read_text().splitlines()[1:]
    return [[*line.split("\t"), ""][:7] for line in lines]


def expected(language: str) -> dict[tuple[str, str], str]:
    """What a program in this language is to see of each feature and kind."""
    table: dict[tuple[str, str], str] = {}
    for feature, _, *cells, differences in rows():
        table |= {(feature, kind): cell for kind, cell in zip(KINDS, cells)}
        for difference in filter(None, differences.split(", ")):
            one, kind, cell = difference.split()
            if one == language:
                table[feature, kind] = cell
    return table


def lacking(language: str) -> list[str]:
    """What queues of this language do not have, though those of others do."""
    table = expected(language)
    lacks = []
    for feature, words, *cells, _ in rows():
        kinds = [k for k, cell in zip(KINDS, cells) if cell == "yes" and table[feature, k] == "no"]
        if kinds:
            lacks.append(words if len(kinds) == len(KINDS) else f"{words} ({', '.join(kinds)})")
    return lacks


def readme() -> str:
    """What all kinds have in a sentence, and a table of what only some have."""
    shared = [words for _, words, *cells, _ in rows() if set(cells) == {"yes"}]
    text = f"Every kind of queue has {', '.join(shared[:-1])}, and {shared[-1]}, in each language."
    text += f" Only Swift has no {' and no '.join(lacking('swift'))}."
    lines = [*textwrap.wrap(text, 120), ""]
    lines += ["| only some have | " + " | ".join(KINDS) + " |", "|---" * 5 + "|"]
    for _, words, *cells, _ in rows():
        if set(cells) != {"yes"}:
            marks = ("✓" if cell == "yes" else " " for cell in cells)
            lines.append(f"| {words} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def compare(language: str, text: str) -> list[str]:
    seen = {}
    for line in text.splitlines():
        if line.count("\t") == 2:
            feature, kind, outcome = line.split("\t")
            seen[feature, kind] = outcome
    table = expected(language)
    return [
        f"{language}, {feature} of {kind}: {seen.get((feature, kind), 'nothing')} is seen, and"
        f" {table.get((feature, kind), 'nothing')} is in the table"
        for feature, kind in sorted(table.keys() | seen.keys())
        if table.get((feature, kind)) != seen.get((feature, kind))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=Path, metavar="README")
    parser.add_argument("--seen", metavar="LANGUAGE")
    arguments = parser.parse_args()
    if arguments.seen:
        problems = compare(arguments.seen, sys.stdin.read())
        print(*problems, sep="\n", end="\n" if problems else "")
        sys.exit(bool(problems))
    if not arguments.check:
        print(readme(), end="")
        return
    text = arguments.check.read_text()
    if BEGIN + readme() + END not in text:
        sys.exit(f"{arguments.check} does not have what {Path(__file__).name} prints")


if __name__ == "__main__":
    main()
