"""``python -m inturn``: which library there is, and what works here.

``python -m inturn ps``, ``dump PID``, ``why PID``, ``holders PID`` and ``top PID`` look into other
processes: they run the program ``inturn`` that comes with the library.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

import inturn


def main() -> int:
    """Prints it; 1 where something does not work. Where there is no library, the import says so."""
    if len(sys.argv) > 1:
        return _run_program(sys.argv[1:])
    print(f"inturn {inturn.__version__}, Python {platform.python_version()}")
    print(f"library {'.'.join(map(str, inturn.version()))}: {inturn.library_path}")
    checks = [("threads", _threads), ("main executor", _main_executor), ("asyncio", _asyncio)]
    failed = 0
    for name, check in checks:
        try:
            check()
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}")
        else:
            print(f"{name}: works")
    return 1 if failed else 0


def _run_program(arguments: list[str]) -> int:
    """In the place of this process. Returns only where there is no such program."""
    program = _find_program()
    if program is None:
        print(f"inturn: there is no program inturn beside {inturn.library_path}", file=sys.stderr)
        return 1
    os.execv(program, ["inturn", *arguments])


def _find_program() -> str | None:
    """That of a wheel or a build is beside the library; that of an install, where programs are."""
    library = Path(inturn.library_path)
    if library.is_absolute():
        folder = library.resolve().parent
        for path in (folder / "inturn", folder.parent / "bin" / "inturn"):
            if path.is_file() and os.access(path, os.X_OK):
                return str(path)
    return shutil.which("inturn")


def _compare(result: object) -> None:
    if result != 3:  # no assertion, as optimised programs check none
        raise RuntimeError(f"{result!r} instead of 3")


def _threads() -> None:
    with inturn.FIFOQueue("check") as queue:
        _compare(queue.submit(sum, [1, 2]).result(10))


def _main_executor() -> None:
    with inturn.InteractionQueue("check", settle=0) as queue:
        queue.options(on_end=lambda _: inturn.stop_main()).enqueue(inturn.Token.finish)
        queue.view_did_appear()
        inturn.run_main()


def _asyncio() -> None:
    import asyncio

    async def check() -> int:
        async def answer() -> int:
            return 3

        with inturn.FIFOQueue("check") as queue:
            return await asyncio.wait_for(queue.run(answer), 10)

    _compare(asyncio.run(check()))


if __name__ == "__main__":
    sys.exit(main())
