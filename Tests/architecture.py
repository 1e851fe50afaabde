#!/usr/bin/env python3
"""Checks what Sources/README.md says of the engine: that the files it names are there, that it has
all folders, that each folder names only what is below it and what the page says, that the values
which it says know neither lane nor lock do not, and that the C functions and the Swift modules call
no lane. Checks also that Python's modules import each other
in layers: no two of them need each other, now or later.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "Sources"
CORE = SOURCES / "InturnCore"
PAGE = SOURCES / "README.md"
PYTHON = ROOT / "bindings/python/src/inturn"


def code_of(path: Path) -> str:
    """A Swift file without its comments."""
    return re.sub(r"//.*", "", path.read_text())


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def problems() -> list[str]:
    page = PAGE.read_text()
    found = []
    for name in re.findall(r"`([\w+./-]+\.\w+)`", page):
        if not any((base / name).is_file() for base in (CORE, SOURCES, ROOT)):
            found.append(f"{name} is not there")
    folders = {path.name for path in CORE.iterdir() if path.is_dir()}
    listed = set(
        re.findall(
            r"^\| `(\w+)` \|",
            section(page, "From above").split("A folder may use")[0],
            re.MULTILINE,
        )
    )
    targets = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    found += [f"the folder {name} is not in the table" for name in sorted(folders - listed)]
    found += [f"there is no {name}" for name in sorted(listed - folders - targets)]
    values = re.findall(r"`(\w+/\w+\.swift)`", section(page, "Decide under the lock, act after it"))
    for name in values:
        # Those are where it is done, not what decides.
        if name in ("Lanes/Outbox.swift", "Lanes/Lane.swift") or not (CORE / name).is_file():
            continue
        known = re.findall(r"\b(Lane|BriefLock|Atomic|Engine)\b", code_of(CORE / name))
        found += [f"{name} knows {what}" for what in sorted(set(known))]
    for path in sorted([*CORE.rglob("*.swift"), *(SOURCES / "InturnC").glob("*.swift")]):
        known = re.findall(r"\bString\b|\bimport Foundation\b|\\\.", code_of(path))
        found += [f"{path.relative_to(ROOT)} uses {what}" for what in sorted(set(known))]
    for path in sorted(SOURCES.rglob("*.swift")):
        if CORE not in path.parents and re.search(r"\bLane\.Pointer\b", code_of(path)):
            found.append(f"{path.relative_to(ROOT)} calls a lane")
    return found + names_from_above(page)


TYPE = re.compile(
    r"^(?:package |private |fileprivate |final |indirect |@\w+ )*"
    r"(?:struct|class|enum|protocol|typealias) (\w+)",
    re.MULTILINE,
)


def names_from_above(page: str) -> list[str]:
    """What folders name of later ones and the page does not say, and what it says in vain."""
    text = section(page, "From above")
    order = re.findall(
        r"^\| `(\w+)` \|", text.split("Inside of")[1].split("A folder may use")[0], re.M
    )
    allowed = {
        (folder, name)
        for names, folders in re.findall(
            r"^\| (`.*?`) \| (`.*?`) \|", text.split("A folder may use")[1], re.M
        )
        for name in re.findall(r"`(\w+)`", names)
        for folder in re.findall(r"`(\w+)`", folders)
    }
    home = {}
    for folder in order:
        for path in (CORE / folder).glob("*.swift"):
            home.update(dict.fromkeys(TYPE.findall(code_of(path)), folder))
    used = set()
    for folder in order:
        for path in (CORE / folder).glob("*.swift"):
            code = code_of(path)
            own = set(re.findall(r"(?:struct|class|enum|protocol|typealias) (\w+)", code))
            for name in set(re.findall(r"(?<![.\w])[A-Z]\w+", code)) - own:
                if order.index(home.get(name, folder)) > order.index(folder):
                    used.add((folder, name))
    return [
        f"{folder} names {name}, which is above it" for folder, name in sorted(used - allowed)
    ] + [f"{folder} does not name {name}" for folder, name in sorted(allowed - used)]


def imported(node: ast.AST) -> set[str]:
    """The package's own modules that code imports, but for type checkers."""
    found = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.ImportFrom) and child.level == 1:
            found |= {child.module} if child.module else {name.name for name in child.names}
        found |= imported(child)
    return found


def circle(folder: Path) -> list[str]:
    """The modules of a Python package that need each other, and those that need them."""
    modules = {path.stem: imported(ast.parse(path.read_text())) for path in folder.glob("*.py")}
    while lowest := [name for name, needed in modules.items() if not needed & modules.keys()]:
        for name in lowest:
            del modules[name]
    return sorted(modules)


def main() -> int:
    found = [f"Sources/README.md: {problem}" for problem in problems()]
    if left := circle(PYTHON):
        found.append(f"{PYTHON.relative_to(ROOT)}: a circle of imports in {', '.join(left)}")
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
