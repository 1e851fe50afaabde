"""Fails when a public name of the Python package has no documentation."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "src" / "inturn"
# The modules that users import; `names` says what they offer.
LOOPS = ("asyncio", "dispatch", "glib", "qt", "tk", "trio")
PUBLIC = ("", "loops", *(f"loops/{loop}" for loop in LOOPS))
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def parse(path: str) -> ast.Module:
    """A module of the package, or the package itself."""
    file = PACKAGE / f"{path}.py"
    return ast.parse((file if file.exists() else PACKAGE / path / "__init__.py").read_bytes())


def documented(module: ast.Module) -> Iterator[tuple[str, ast.stmt, bool]]:
    """What a module defines, and whether it has documentation: aliases have a string below."""
    following = [*module.body[1:], None]
    for node, after in zip(module.body, following, strict=True):
        if isinstance(node, Definition):
            yield node.name, node, ast.get_docstring(node) is not None
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in ast.walk(ast.Tuple(targets, ast.Store())):
                if isinstance(target, ast.Name):
                    yield target.id, node, told


def names(module: ast.Module) -> list[str]:
    """A module's __all__, or its public definitions and what it imports under the same name."""
    for name, node, _ in documented(module):
        if name == "__all__" and isinstance(node, ast.Assign):
            return list(ast.literal_eval(node.value))
    imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom)]
    imported = [by.name for node in imports for by in node.names if by.name == by.asname]
    defined = [name for name, node, _ in documented(module) if isinstance(node, Definition)]
    return defined + imported


def missing() -> Iterator[str]:
    """The public names without documentation: of modules, and of public classes."""
    known: dict[str, tuple[ast.stmt, bool]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for name, node, told in documented(ast.parse(file.read_bytes())):
            if isinstance(node, Definition) or told or name not in known:
                known[name] = node, told
    for node in parse("").body:
        if isinstance(node, ast.ImportFrom):
            known |= {by.asname: known[by.name] for by in node.names if by.asname}
    methods = {
        member.name
        for node, _ in known.values()
        if isinstance(node, ast.ClassDef)
        for member in node.body
        if isinstance(member, Definition) and ast.get_docstring(member)
    }
    for path in PUBLIC:
        module = parse(path)
        where = ".".join(["inturn", *filter(None, path.split("/"))])
        if ast.get_docstring(module) is None:
            yield where
        for name in names(module):
            if name.startswith("_"):
                continue
            node, told = known[name]
            if not told:
                yield f"{where}.{name}"
            if not isinstance(node, ast.ClassDef):
                continue
            for member in node.body:
                # One that overrides another need not say it again.
                if isinstance(member, Definition) and not member.name.startswith("_"):
                    setter = any(isinstance(by, ast.Attribute) for by in member.decorator_list)
                    if not setter and member.name not in methods:
                        yield f"{where}.{name}.{member.name}"


if __name__ == "__main__":
    without = sorted(set(missing()))
    print(
        "\n".join(f"without documentation: {name}" for name in without) or "docstrings: all there"
    )
    sys.exit(1 if without else 0)
