"""``python -m inturn``: which library there is, and what works here."""

from __future__ import annotations

import platform
import sys

import inturn


def main() -> int:
    """Prints it; 1 where something does not work. Where there is no library, the import says so."""
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


def _threads() -> None:
    with inturn.FIFOQueue("check") as queue:
        assert queue.submit(sum, [1, 2]).result(10) == 3


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

    assert asyncio.run(check()) == 3


if __name__ == "__main__":
    sys.exit(main())
