"""Lists the programs in Python that are stuck, or runs one of them."""

from __future__ import annotations

import importlib
import sys

from stuck_fixture import scenarios


def main() -> None:
    for module in ("stuck_threads", "stuck_loops"):
        importlib.import_module(module)
    for name, (expected, is_new, scenario) in scenarios.items():
        if sys.argv[1] == "--list":
            print(name, expected, *(["new"] * is_new), sep="\t")
        elif sys.argv[1] == name:
            print("ready", flush=True)
            scenario()


if __name__ == "__main__":
    main()
