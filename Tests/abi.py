"""Compares the types and functions of inturn.h with those that programs were built with.

    abi.py [--write]

bindings/c/inturn.abi says what those are.  The library is made of Swift, whose debugging
information does not know C's types; so the header's functions are compiled with nothing in them,
and libabigail reads that.  exports.py compares the header with the library.

What a program sees otherwise than before is a fault, also where it only grows, as a struct that
ends with more fields.  If it is meant, --write makes the file anew, and the review sees what has
changed.  A new function is none: no program knows it.  A release begins with --write.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "include/inturn.h"
DUMP = ROOT / "bindings/c/inturn.abi"


def functions() -> list[tuple[str, str, list[str]]]:
    """The header's functions: what each returns, its name, its parameters' types."""
    words = ["clang", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-x", "c", str(HEADER)]
    tree: dict[str, Any] = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    found = []
    for node in tree["inner"]:
        if node["kind"] == "FunctionDecl" and node["name"].startswith("inturn_"):
            parameters = [it for it in node.get("inner", []) if it["kind"] == "ParmVarDecl"]
            result = node["type"]["qualType"].partition("(")[0]
            found.append((result, node["name"], [it["type"]["qualType"] for it in parameters]))
    return found


def compile_empty(folder: Path) -> Path:
    """A library with all of the functions, and nothing in them."""
    lines = ['#include "inturn.h"']
    for result, name, types in functions():
        parameters = ", ".join(f"{kind} p{place}" for place, kind in enumerate(types)) or "void"
        # Between brackets, as some are macros, too.
        lines.append(f"{result}({name})({parameters}) {{ __builtin_trap(); }}")
    source = folder / "inturn.c"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    library = folder / "libinturn.so"
    flags = ["-g", "-shared", "-fPIC", f"-I{HEADER.parent}", "-Wl,-soname,libinturn.so.0"]
    # By its bare name, as the dump says where it is.
    subprocess.run(["gcc", *flags, source.name, "-o", library.name], cwd=folder, check=True)
    return library


def main() -> int:
    """Compares, or writes; returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        library = compile_empty(Path(folder))
        if sys.argv[1:] == ["--write"]:
            words = ["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]
            subprocess.run([*words, "--out-file", str(DUMP), str(library)], check=True)
            return 0
        compared = subprocess.run(
            ["abidiff", "--no-show-locs", "--harmless", "--no-added-syms", str(DUMP), str(library)],
            capture_output=True,
            text=True,
        )
    print(compared.stdout + compared.stderr, end="")
    if compared.returncode:
        print("if this is meant: python3 Tests/abi.py --write")
        return 1
    print("the binary interface is that of bindings/c/inturn.abi")
    return 0


if __name__ == "__main__":
    sys.exit(main())
