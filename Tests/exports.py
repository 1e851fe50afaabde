#!/usr/bin/env python3
"""Compares the four lists of the C API's functions, both ways each.

include/inturn.h declares them, Sources/InturnC implements them, the release
library exports them, and the Python binding's table names them. The compiler
sees neither a declared function that nobody implements nor an implemented one
that is not public and so missing from the release library.

It also reads the header's comments: each function has one, one that returns an
inturn_status lists its statuses, and each status that is named exists.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

NAME = re.compile(r"inturn_\w+")
# A comment, a preprocessor line with its continuations, or a piece of code up
# to the next of these.
LEXEME = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*)"
    r"|(?P<directive>^[ \t]*\#(?:[^\n\\]|\\.)*)"
    r"|(?P<code>[^/#{};]+|.)",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Function:
    """A function that the header declares."""

    name: str
    returns: str
    comment: str | None
    line: int


def functions(header: str) -> Iterator[Function]:
    """Each declared function, in the header's order.

    A comment belongs to the declaration that begins on the line after it.
    """
    # Blanks, so that the braces of this block do not count as a body's.
    header = re.sub(r'extern\s+"C"\s*\{', lambda m: " " * len(m[0]), header)
    depth = 0
    comment: str | None = None
    statement = ""
    line = 1
    for lexeme in LEXEME.finditer(header):
        text = lexeme[0]
        if lexeme["comment"]:
            if not statement.strip():
                comment, statement = text, ""
        elif lexeme["directive"]:
            comment, statement = None, ""
        elif text == "{":
            depth += 1
        elif text == "}":
            depth = max(0, depth - 1)
        elif depth == 0 and text != ";":
            if not statement.strip():
                if "\n\n" in text[: len(text) - len(text.lstrip())]:
                    comment = None
                line = header.count("\n", 0, lexeme.start()) + 1
                line += text[: len(text) - len(text.lstrip())].count("\n")
            statement += text
        elif depth == 0:
            words = " ".join(statement.split())
            declared = re.match(r"(?!typedef\b)(.*?)\b(\w+) ?\(", words)
            if declared:
                returns, name = declared[1].strip(), declared[2]
                yield Function(name, returns, comment, line)
            comment, statement = None, ""


def exported(library: Path) -> list[str]:
    """What the dynamic linker finds in the library."""
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", str(library)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split()[0] for line in result.stdout.splitlines()]


def implemented(folder: Path) -> Iterator[tuple[str, str]]:
    """Each exported name in the Swift sources, with the declaration's words."""
    attribute = re.compile(r'@_cdecl\("(\w+)"\)(.*?)\bfunc\b', re.DOTALL)
    for path in sorted(folder.rglob("*.swift")):
        source = re.sub(r"//[^\n]*", "", path.read_text("utf-8"))
        for match in attribute.finditer(source):
            yield match[1], match[2]


def prototyped(table: Path) -> list[str]:
    """The names in the binding's prototype table, in its order."""
    strings = [
        (node.lineno, node.col_offset, node.value)
        for node in ast.walk(ast.parse(table.read_text("utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and NAME.fullmatch(node.value)
    ]
    return [name for _, _, name in sorted(strings)]


def differences(expected: Iterable[str], found: Sequence[str], where: str) -> Iterator[str]:
    """How a list differs from the header's."""
    declared = set(expected)
    for name, count in sorted(Counter(found).items()):
        if name not in declared:
            yield f"{name}: {where}, but inturn.h does not declare it"
        if count > 1:
            yield f"{name}: {where} {count} times"
    for name in sorted(declared.difference(found)):
        yield f"{name}: inturn.h declares it, but it is not {where}"


def misplaced(expected: Sequence[str], found: Sequence[str]) -> Iterator[str]:
    """The first name, if any, that is out of the header's order."""
    both = set(expected).intersection(found)
    ordered = [name for name in expected if name in both]
    actual = [name for name in found if name in both]
    for want, have in zip(ordered, actual, strict=False):
        if want != have:
            yield f"{have}: out of the header's order in Python, {want} is next"
            return


def undocumented(declared: Sequence[Function], header: str) -> Iterator[str]:
    """What the header's comments owe."""
    for function in declared:
        place = f"inturn.h:{function.line}: {function.name}"
        if function.comment is None:
            yield f"{place} has no comment"
        elif function.returns == "inturn_status" and "Statuses:" not in function.comment:
            yield f"{place} returns a status and lists none (Statuses:)"
    known = set(re.findall(r"^\s*INTURN_(E_\w+|OK) *=", header, re.MULTILINE))
    # Not in quotes: there it is the name of none.
    named = set(re.findall(r'(?<!["\w])(?:INTURN_)?(E_[A-Z_]+)', header))
    for status in sorted(named - known):
        yield f"INTURN_{status}: inturn.h names it and does not define it"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--header", type=Path, default=ROOT / "include/inturn.h", metavar="FILE")
    parser.add_argument(
        "--library",
        type=Path,
        default=ROOT / ".build/inturn-library/libinturn.so",
        metavar="FILE",
        help="the release library",
    )
    parser.add_argument("--sources", type=Path, default=ROOT / "Sources/InturnC", metavar="DIR")
    parser.add_argument(
        "--python",
        type=Path,
        default=ROOT / "bindings/python/src/inturn/_prototypes.py",
        metavar="FILE",
    )
    paths = parser.parse_args()

    header = paths.header.read_text("utf-8")
    declared = list(functions(header))
    names = [function.name for function in declared]
    swift = list(implemented(paths.sources))

    problems: list[str] = []
    if not names:
        problems.append(f"{paths.header}: no functions found")
    problems += [f"{name}: not the C API's" for name in names if not NAME.match(name)]
    problems += [
        f"{name}: declared {count} times" for name, count in Counter(names).items() if count > 1
    ]
    problems += undocumented(declared, header)
    problems += differences(names, [name for name, _ in swift], "in Sources/InturnC")
    for name, words in swift:
        for word in ("public", "@implementation"):
            if word not in words.split():
                problems.append(f"{name}: its Swift function is not {word}")
    problems += differences(names, exported(paths.library), "exported")
    if paths.python.is_file():
        table = prototyped(paths.python)
        problems += differences(names, table, "in Python's table")
        problems += misplaced(names, table)
    else:
        problems.append(f"{paths.python}: missing")

    for problem in problems:
        print(problem)
    print(f"{len(names)} functions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
