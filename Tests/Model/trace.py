"""Turns the places in a printed schedule into names, files and lines.

model ... | trace.py PROGRAM SYMBOLIZER
"""

import re
import subprocess
import sys

PLACE = re.compile(r" @([0-9a-f]+)")
# Frames of no interest: those of the scheduler.
OURS = re.compile(r"/Tests/Model/(scheduler|seam|checker)/|/c\+\+/|^\?\?")


class Symbols:
    """Asks the symbolizer, and caches its answers."""

    def __init__(self, program: str, symbolizer: str) -> None:
        self.process = subprocess.Popen(
            [symbolizer, f"--obj={program}", "--inlines", "--functions=short", "--demangle"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.known: dict[str, list[str]] = {}

    def of(self, address: str) -> list[str]:
        """The frames at a place, innermost first: `function (file:line)`."""
        if address not in self.known:
            assert self.process.stdin
            assert self.process.stdout
            print(f"0x{address}", file=self.process.stdin, flush=True)
            frames = []
            while function := self.process.stdout.readline().strip():
                file, line = [*self.process.stdout.readline().strip().rsplit(":", 2), "", ""][:2]
                if not OURS.search(file) and function != "??":
                    frames.append(f"{self.short(function)} ({file.rsplit('/', 1)[-1]}:{line})")
            self.known[address] = frames
        return self.known[address]

    @staticmethod
    def short(function: str) -> str:
        """A Swift name without types."""
        return re.sub(r"[(<].*|^.* in ", "", function).rsplit(".", 1)[-1]


def main() -> None:
    symbols = None
    for line in sys.stdin:
        places = PLACE.findall(line)
        if places:
            symbols = symbols or Symbols(sys.argv[1], sys.argv[2])
            frames = [frame for place in places for frame in symbols.of(place)]
            line = PLACE.sub("", line).rstrip() + " " + " < ".join(frames[:7]) + "\n"
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
