"""The table of features: which kind of queue has what, in which language.

    table.py --check README     whether README has its parts of it, between their marks
    table.py --write README     puts them there
    table.py --seen LANGUAGE    reads what a program of that language has seen, as features.c
                                says it, and compares

features.tsv is the table; the last column says where a language differs, as in
"swift fifo no".  compared.tsv says which of the features others have.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

KINDS = ("fifo", "actor", "interaction", "concurrent")
SIGNS = {"yes": "✓", "no": " ", "partly": "(✓)", "async": "`async`"}


def table(name: str) -> list[list[str]]:
    lines = (Path(__file__).parent / f"{name}.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines]


def rows() -> list[list[str]]:
    return [[*row, ""][:7] for row in table("features")[1:]]


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


def features() -> str:
    """What all kinds have, and what only some have."""
    shared = [words for _, words, *cells, _ in rows() if set(cells) == {"yes"}]
    text = f"Every kind has {', '.join(shared[:-1])}, and {shared[-1]}, in every language"
    lacks = lacking("swift")
    text += f"; but Swift has no {', no '.join(lacks)}." if lacks else "."
    some = []
    for _, words, *cells, _ in rows():
        if set(cells) != {"yes"}:
            kinds = [kind for kind, cell in zip(KINDS, cells) if cell == "yes"]
            some.append(f"{words} ({', '.join(kinds)})")
    only = f"Only some kinds have {', '.join(some[:-1])}, and {some[-1]}."
    return "\n".join([*textwrap.wrap(text, 120), "", *textwrap.wrap(only, 120)]) + "\n"


def compared() -> str:
    """Which of the features others have."""
    ours = {feature: cells for feature, _, *cells, _ in rows()}
    (_, _, *others), *lines = table("compared")
    text = f"| | Inturn | {' | '.join(others)} |\n" + "|---" * (len(others) + 2) + "|\n"
    for feature, words, *cells in lines:
        kinds = ours[feature].count("yes")
        own = "✓" if kinds == len(KINDS) else f"{kinds} kinds"
        text += f"| {words} | {own} | {' | '.join(SIGNS[cell] for cell in cells)} |\n"
    text += "\n(✓): in part, or by hand. `async`: for async functions or promises only.\n"
    return text


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
    parser.add_argument("--write", type=Path, metavar="README")
    parser.add_argument("--seen", metavar="LANGUAGE")
    arguments = parser.parse_args()
    if arguments.seen:
        problems = compare(arguments.seen, sys.stdin.read())
        print(*problems, sep="\n", end="\n" if problems else "")
        sys.exit(bool(problems))
    page: Path = arguments.check or arguments.write
    text = right = page.read_text()
    for name, part in (("features", features()), ("compared", compared())):
        head, begin, rest = right.partition(f"<!-- {name} -->\n")
        _, end, tail = rest.partition(f"<!-- /{name} -->\n")
        right = head + begin + part + end + tail
    if arguments.write:
        page.write_text(right)
    elif text != right:
        sys.exit(f"{page} has another table: run {Path(__file__).name} --write {page}")


if __name__ == "__main__":
    main()
