"""Draws what happens to three uploads, without Inturn and with it.

    timeline.py             records a run, and draws timeline.svg from it
    timeline.py --draw      draws what was recorded
    timeline.py --check     fails if the picture is not of what was recorded, or if a new run
                            does not go as it says

The first upload takes longest.  The picture shows measurements: times are in milliseconds from the
first start, kept in recorded.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

try:
    import inturn
except ImportError:  # The package of this repository, not installed.
    sys.path.insert(0, str(Path(__file__).parents[2] / "bindings" / "python" / "src"))
    import inturn

HERE = Path(__file__).parent
SECONDS = {1: 0.3, 2: 0.1, 3: 0.2}
LIMIT = 20.0  # Seconds; far more than a run takes.


class Upload(TypedDict):
    """When an upload was requested, began, and arrived."""

    photo: int
    asked: float
    begun: float
    arrived: float


Run = list[Upload]


def start_upload(photo: int, then: Callable[[], object]) -> None:
    """Returns at once; calls `then`, on a thread of its own, when the photo has arrived."""
    threading.Timer(SECONDS[photo], then).start()


def run_without() -> Run:
    """Three uploads, started one after another."""
    uploads: Run = []
    all_arrived = threading.Semaphore(0)
    for photo in SECONDS:
        upload = Upload(photo=photo, asked=inturn.now(), begun=inturn.now(), arrived=0)
        uploads.append(upload)

        def arrive(upload: Upload = upload) -> None:
            upload["arrived"] = inturn.now()
            all_arrived.release()

        start_upload(photo, then=arrive)
    for _ in SECONDS:
        if not all_arrived.acquire(timeout=LIMIT):
            raise TimeoutError("an upload has not arrived")
    return uploads


def run_with() -> Run:
    """The same three in a queue, which reports when each was enqueued and began."""
    uploads: Run = []
    queue = inturn.FIFOQueue("uploads", stall=LIMIT)
    for photo in SECONDS:

        def upload(token: inturn.Token, photo: int = photo) -> None:
            def arrive() -> None:
                running = queue.operations(1)[0]
                asked, begun = running.enqueued_ns / 1e9, running.started_ns / 1e9
                uploads.append(Upload(photo=photo, asked=asked, begun=begun, arrived=inturn.now()))
                token.finish()

            start_upload(photo, then=arrive)

        queue.options(label=f"photo {photo}").enqueue(upload)
    queue.drain(LIMIT)
    return uploads


def from_start(run: Run) -> Run:
    """The run in milliseconds from its first upload, in the photos' order."""
    start = min(upload["asked"] for upload in run)

    def ms(seconds: float) -> float:
        return round((seconds - start) * 1000, 1)

    return [
        Upload(
            photo=u["photo"], asked=ms(u["asked"]), begun=ms(u["begun"]), arrived=ms(u["arrived"])
        )
        for u in sorted(run, key=lambda upload: upload["photo"])
    ]


def record() -> dict[str, Run]:
    """Makes both runs."""
    return {"without": from_start(run_without()), "with": from_start(run_with())}


def arrivals(run: Run) -> list[int]:
    """The photos in the order in which they arrived."""
    return [upload["photo"] for upload in sorted(run, key=lambda upload: upload["arrived"])]


# --- the picture

WIDTH, LEFT, ROW, BAR = 860, 96, 34, 20
PANEL, GAP = 46, 22  # Above a panel's rows, and between panels.
# Shared with the C drawings.
LOOKS = dict(
    re.findall(r'^#define LOOK_(\w+) "(.*)"$', (HERE / "look.h").read_text("utf-8"), re.MULTILINE)
)
ORDINALS = ("first", "second", "third")


class Picture:
    """An SVG that is composed from top to bottom."""

    def __init__(self, last: float) -> None:
        self.parts: list[str] = []
        self.y = 0
        self.scale = (WIDTH - LEFT - 150) / last
        self.ticks = range(0, int(last) + 1, 100)

    def x(self, ms: float) -> str:
        return f"{LEFT + ms * self.scale:.1f}"

    def text(self, x: str, y: float, text: str, kind: str = "plain", anchor: str = "start") -> None:
        where = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(f'<text x="{x}" y="{y:g}"{where} {LOOKS[kind]}>{text}</text>')

    def bar(self, kind: str, begin: float, end: float, y: float) -> None:
        width = (end - begin) * self.scale
        self.parts.append(
            f'<rect {LOOKS[kind]} x="{self.x(begin)}" y="{y:g}" width="{width:.1f}"'
            f' height="{BAR}" rx="3"/>'
        )

    def panel(self, title: str, run: Run) -> None:
        """Three rows below a title, on lines at each 100 ms."""
        self.text("20", self.y + 28, title, "title")
        top, bottom = self.y + PANEL - 6, self.y + PANEL + len(run) * ROW - 8
        for ms in self.ticks:
            x = self.x(ms)
            self.parts.append(f'<line {LOOKS["line"]} x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>')
        order = arrivals(run)
        for row, upload in enumerate(run):
            y = self.y + PANEL + row * ROW
            photo, begun, arrived = upload["photo"], upload["begun"], upload["arrived"]
            self.text("20", y + 15, f"photo {photo}")
            if (begun - upload["asked"]) * self.scale > 4:
                self.bar("waits", upload["asked"], begun, y)
            self.bar(f"photo{photo}", begun, arrived, y)
            label = f"{arrived - begun:.0f} ms"
            middle = self.x((begun + arrived) / 2)
            self.text(middle, y + 15, label, "inside", "middle")
            end = f"{float(self.x(arrived)) + 10:.1f}"
            self.text(end, y + 15, f"arrives {ORDINALS[order.index(photo)]}")
        self.y += PANEL + len(run) * ROW + GAP

    def axis(self) -> None:
        """Labels the lines of the last panel."""
        for ms in self.ticks:
            unit = " ms" if ms == 0 else ""
            self.text(self.x(ms), self.y - GAP + 8, f"{ms}{unit}", "quiet", "middle")


def draw(recorded: dict[str, Run]) -> str:
    """The picture of what was recorded."""
    last = max(upload["arrived"] for run in recorded.values() for upload in run)
    picture = Picture(last)
    picture.panel("Without Inturn: all start at once and arrive in any order", recorded["without"])
    picture.panel("With Inturn: each starts when the one before it has arrived", recorded["with"])
    picture.axis()
    y = picture.y + 8
    picture.parts.append(
        f'<rect {LOOKS["waits"]} x="20" y="{y}" width="24" height="12" rx="3"/>'
        f'<rect {LOOKS["photo1"]} x="156" y="{y}" width="24" height="12" rx="3"/>'
    )
    picture.text("52", y + 10, "in the queue", "quiet")
    picture.text("188", y + 10, "under way, until its token is finished", "quiet")
    height = y + 28
    orders = {name: ", ".join(map(str, arrivals(run))) for name, run in recorded.items()}
    about = f"Without Inturn the photos arrive as {orders['without']}; with it as {orders['with']}."
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
            f' viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title about"'
            f" {LOOKS['FONT']}>",
            '<title id="title">Three uploads on a time line</title>',
            f'<desc id="about">{about}</desc>',
            f"<style>{LOOKS['STYLE']}</style>",
            f'<rect {LOOKS["paper"]} x="0.5" y="0.5" rx="6"'
            f' width="{WIDTH - 1}" height="{height - 1}"/>',
            *picture.parts,
            "</svg>\n",
        )
    )


def wrong_with(recorded: dict[str, Run]) -> str:
    """What does not match the picture; empty if all is well."""
    if arrivals(recorded["with"]) != [1, 2, 3]:
        return f"with Inturn they arrive as {arrivals(recorded['with'])}"
    for before, after in zip(recorded["with"], recorded["with"][1:]):
        if after["begun"] < before["arrived"]:
            return f"photo {after['photo']} begins before photo {before['photo']} has arrived"
    if recorded["without"][-1]["begun"] >= recorded["without"][0]["arrived"]:
        return "without Inturn they do not overlap"
    return ""


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--draw", action="store_true")
    choice.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    kept, picture = HERE / "recorded.json", HERE / "timeline.svg"
    if arguments.check:
        recorded = json.loads(kept.read_text(encoding="utf-8"))
        if draw(recorded) != picture.read_text(encoding="utf-8"):
            print("timeline.svg is not what timeline.py draws of recorded.json", file=sys.stderr)
            return 1
        wrong = wrong_with(recorded) or wrong_with(record())
        if arrivals(recorded["without"]) == [1, 2, 3]:
            wrong = "without Inturn they arrive in order: record another run"
        print(wrong or "the time line: as recorded, and a new run goes the same way")
        return 1 if wrong else 0
    if arguments.draw:
        recorded = json.loads(kept.read_text(encoding="utf-8"))
    else:
        recorded = record()
        kept.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    picture.write_text(draw(recorded), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
