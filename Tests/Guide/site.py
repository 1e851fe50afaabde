"""Opens the site from disk in a browser, and uses it as a reader does.

    site.py SITE [--shots DIR]

Every link and picture of every page leads somewhere.  The pages of the guide, and some of the
reference, are not wider than a desktop or a phone, and pass axe's rules: contrast, names, order.
On the phone, in dark, axe looks at one of each sort.  The search finds a page, and the keyboard
gets to the text, to the search and to all else that is not the text.  DIR gets a picture of each
page that was opened.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
LIMIT = 30_000  # Milliseconds.
# One page of each sort.
SORTS = (
    "index.html",
    "howto/n_at_a_time.html",
    "howto/stuck_queue.html",
    "reference/c.html",
    "reference/c/manual.html",
    "reference/c/tokens.html",
    "reference/cpp/tokens.html",
    "reference/python/queues.html",
    "reference/swift/AsyncQueue/FIFOQueue.html",
    "reference/swift/AsyncQueue/Moving.html",
)

# Not of the pages' making: what the theme repeats or leaves out, and that what Doxygen calls the
# main page is a term's explanation to Breathe.
LEFT_OUT = {"landmark-unique", "region", "landmark-one-main", "dlitem"}


def screens(browser: Browser) -> dict[str, BrowserContext]:
    """What pages are looked at on."""
    return {
        "desktop": browser.new_context(
            viewport={"width": 1280, "height": 900}, color_scheme="light"
        ),
        "phone": browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark"),
    }


class Links(HTMLParser):
    """The places of a page, and where it leads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.targets: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


def broken_links(site: Path) -> Iterator[str]:
    """The links and pictures that lead nowhere."""
    pages = {file: Links(file) for file in sorted(site.rglob("*.html"))}
    for file, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if not parts.scheme:
                to = (file.parent / unquote(parts.path)).resolve() if parts.path else file
                place = unquote(parts.fragment)
                if not to.exists():
                    yield f"{file.relative_to(site)} leads to {target}, which is not there"
                elif place and to in pages and place not in pages[to].places:
                    yield f"{file.relative_to(site)} leads to {target}, which has no such place"


def unreadable(browser: Browser, site: Path, shots: Path) -> Iterator[str]:
    """What a page has that not everybody can read."""
    names = [str(file.relative_to(site)) for file in sorted(site.rglob("*.html"))]
    names = [name for name in names if name == "index.html" or "/" in name]
    names = [name for name in names if name in SORTS or not name.startswith("reference/")]
    axe = Axe()
    for screen, context in screens(browser).items():
        page = context.new_page()
        for name in names:
            print(f"{name} on a {screen}", flush=True)
            page.goto((site / name).as_uri())
            page.screenshot(path=shots / f"{name.replace('/', '-')}-{screen}.png")
            looked = screen == "desktop" or name in SORTS
            for found in axe.run(page).response["violations"] if looked else ():
                if found["id"] not in LEFT_OUT:
                    where = found["nodes"][0]["html"][:120]
                    yield f"{name} on a {screen}: {found['help']}: {where}"
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            if wide > 0:
                yield f"{name} is {wide} pixels wider than a {screen}"
        context.close()


def focused(page: Page) -> str:
    """What has the keyboard: its text, or what it is."""
    text: str = page.evaluate(
        "(document.activeElement.innerText || document.activeElement.getAttribute('aria-label')"
        " || document.activeElement.name || document.activeElement.tagName).trim()"
    )
    return text


def unusable(browser: Browser, site: Path) -> Iterator[str]:
    """What does not work by keyboard alone, or without a server."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(LIMIT)
    page.goto((site / "howto" / "n_at_a_time.html").as_uri())
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(focused(page))
        if page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "none" and (
            reached[-1] not in ("q", "Search", "INPUT")
        ):
            yield f"nobody sees that {reached[-1]!r} has the keyboard"
    if not any("content" in text for text in reached[:3]):
        yield f"the keyboard does not skip to the text, but gets to {reached[:3]}"
    if not {"q", "Search"} & set(reached):
        yield f"the keyboard does not get to the search, but to {reached}"

    page.goto((site / "search.html").as_uri() + "?q=inturn_token_finish")
    results = page.locator("#search-results li a")
    results.first.wait_for()
    names = results.all_inner_texts()
    if not any("inturn_token_finish" in name for name in names):
        yield f"the search does not find inturn_token_finish, but {names}"
    page.goto((site / "search.html").as_uri() + "?q=sqlite")
    results.first.wait_for()
    results.first.click()
    if "SQLite" not in page.title():
        yield f"the search for sqlite leads to {page.title()!r}"


def main() -> int:
    """Looks at all; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--shots", type=Path, required=True)
    options = parser.parse_args()
    site, shots = options.site.resolve(), options.shots.resolve()
    shots.mkdir(parents=True, exist_ok=True)
    faults = list(broken_links(site))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        faults += unreadable(browser, site, shots)
        faults += unusable(browser, site)
        browser.close()
    print("\n".join(faults) or "the site: its links, colours, widths, search and keyboard")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
