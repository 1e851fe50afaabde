"""Runs every snippet of README.md.

    snippets.py [--build DIR]

A snippet is a fenced block whose info string is its language and its name.  The shell's run first,
in README's order, in the repository; then the programs, with what those have installed.  A program
that is not whole is put into snippets/NAME.LANGUAGE, where a comment says ``SNIPPET``; #includes
and Swift's imports go where one says ``INCLUDES``.  What is printed must be
snippets/NAME.LANGUAGE.out; the end of it, of a shell's.  In shell snippets, the home directory is
one of the test's own.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent / "snippets"
LIMIT = 600  # Seconds for each command, most of which are builds.
FENCE = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUFFIX = {"swift": "swift", "c": "c", "cpp": "cpp", "python": "py", "sh": "sh"}

# Snippets that are not run, and why.
NOT_RUN = {
    "text how": "a picture",
}

# Snippets whose input and output are those of an example.
AS_EXAMPLE = {"sh onboarding": "onboarding/all"}


@dataclass(frozen=True)
class Snippet:
    """One fenced block."""

    language: str
    name: str
    text: str

    @property
    def title(self) -> str:
        return f"{self.language} {self.name}".strip()

    def beside(self, suffix: str = "") -> Path:
        """A file that belongs to it: what it is put into, its input, its output."""
        if self.title in AS_EXAMPLE:
            return ROOT / "examples" / "expected" / f"{AS_EXAMPLE[self.title]}{suffix}"
        return HERE / f"{self.name}.{self.language}{suffix}"

    def whole(self) -> str:
        """The snippet as a program."""
        if not self.beside().exists():
            return self.text
        frame = self.beside().read_text(encoding="utf-8")
        lines = self.text.splitlines(keepends=True)
        first = "import " if self.language == "swift" else "#include"
        includes = "".join(line for line in lines if line.startswith(first))
        rest = "".join(line for line in lines if not line.startswith(first))
        mark = "# SNIPPET\n" if self.language == "python" else "// SNIPPET\n"
        if frame.count(mark) != 1 or ("// INCLUDES\n" in frame) != bool(includes):
            raise ValueError(f"{self.beside()} has no place for the snippet")
        return frame.replace("// INCLUDES\n", includes).replace(mark, rest)


class Failed(Exception):
    """A snippet does not do what it must."""


def command(*words: str | Path, given: Path | None = None) -> str:
    """Runs a command in the repository and returns what it prints."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "INTURN_LIBRARY")}
    with (given or Path(os.devnull)).open("rb") as input_file:
        try:
            ended = subprocess.run(
                [str(word) for word in words],
                cwd=ROOT,
                env=environment,
                stdin=input_file,
                capture_output=True,
                text=True,
                timeout=LIMIT,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)) from error
    if ended.returncode != 0:
        shown = shlex.join(str(word) for word in words)
        raise Failed(f"{shown}\nstatus {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def expect(snippet: Snippet, printed: str) -> None:
    """Compares what a snippet prints with what it must print."""
    expected = snippet.beside(".out")
    if not expected.exists():
        if snippet.language != "sh":
            raise Failed(f"{expected} is missing")
        return
    right = expected.read_text(encoding="utf-8")
    if not (printed.endswith(right) if snippet.language == "sh" else printed == right):
        raise Failed(f"printed:\n{printed}\nmust print:\n{right}")


class Workshop:
    """Where snippets are built: a home directory, and what the shell's have put there."""

    def __init__(self, build: Path) -> None:
        self.build = build
        self.home = build / "home"
        subprocess.run(["rm", "-rf", str(self.home)], check=True)
        self.home.mkdir(parents=True)
        self.swift_programs: Path | None = None

    def at_home(self, text: str) -> str:
        """The text with another home directory; a search path's colon goes before one, too."""
        text = re.sub(r"(?<![\w/])~(?=/)", str(self.home), text)
        return text.replace("$HOME", str(self.home))

    def run(self, snippet: Snippet) -> None:
        """Runs a snippet and looks at what it prints."""
        expect(snippet, getattr(self, f"run_{snippet.language}")(snippet))

    def run_sh(self, snippet: Snippet) -> str:
        given = snippet.beside(".in")
        text = self.at_home(snippet.text)
        return command(
            "bash", "-euo", "pipefail", "-c", text, given=given if given.exists() else None
        )

    def run_python(self, snippet: Snippet) -> str:
        program = self.home / f"{snippet.name}.py"
        return command(self.home / "app" / "bin" / "python", "-W", "error", program)

    def run_c(self, snippet: Snippet, compiler: str = "cc") -> str:
        program = self.home / f"{snippet.name}.{snippet.language}"
        packages = re.findall(r"^// Packages: (.*)$", program.read_text(encoding="utf-8"), re.M)
        prefix = self.home / "inturn"
        os.environ["PKG_CONFIG_PATH"] = str(prefix / "lib" / "pkgconfig")
        names = packages[0].split() if packages else ["inturn"]
        flags = command("pkg-config", "--cflags", "--libs", *names).split()
        flags += ["-Wall", "-Wextra", "-Werror", "-pthread", f"-Wl,-rpath,{prefix}/lib"]
        output = self.home / f"{snippet.name}-{snippet.language}"
        command(compiler, program, *flags, "-o", output)
        return command(output)

    def run_cpp(self, snippet: Snippet) -> str:
        return self.run_c(snippet, "c++")

    def run_swift(self, snippet: Snippet) -> str:
        if self.swift_programs is None:
            raise Failed("its package was not built")
        name = "app" if snippet.name == "manifest" else snippet.name
        return command(self.swift_programs / name)

    def build_swift(self, snippets: list[Snippet]) -> None:
        """Builds the Swift snippets at once: as targets of the package whose manifest is one."""
        (manifest,) = (snippet.whole() for snippet in snippets if snippet.name == "manifest")
        package = self.build / "swift"
        targets = ""
        for snippet in snippets:
            name = "app" if snippet.name == "manifest" else snippet.name
            # The manifest's own target is the whole program.
            program = next(s for s in snippets if s.name == "uploads") if name == "app" else snippet
            source = package / "Sources" / name / "main.swift"
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(program.whole(), encoding="utf-8")
            modules = re.findall(r"^import (\w+)$", program.whole(), re.MULTILINE)
            products = ", ".join(f'.product(name: "{m}", package: "Inturn")' for m in modules)
            if name != "app":
                targets += f'    .executableTarget(name: "{name}", dependencies: [{products}]),\n'
        manifest = manifest.replace('"../inturn"', f'"{ROOT}"')
        manifest = manifest.replace("  targets: [\n", f"  targets: [\n{targets}", 1)
        (package / "Package.swift").write_text(manifest, encoding="utf-8")
        # What the examples' package depends on, too, is there when they have been built.
        scratch = ROOT / ".build" / "dependents"
        options = ("--package-path", package, "--scratch-path", scratch)
        # A cached manifest would not know of files of the library that are new or gone.
        command(
            "swift",
            "build",
            *options,
            "--disable-build-manifest-caching",
            "-Xswiftc",
            "-warnings-as-errors",
        )
        self.swift_programs = Path(command("swift", "build", *options, "--show-bin-path").strip())


def check_marks(snippets: list[Snippet]) -> None:
    """Each snippet has a name of its own, and what is not run exists."""
    titles = [snippet.title for snippet in snippets]
    for title in sorted(set(titles)):
        if titles.count(title) > 1:
            raise Failed(f"README.md has two snippets '{title}'")
    for title in NOT_RUN:
        if title not in titles:
            raise Failed(f"README.md has no snippet '{title}', which is not to be run")
    for snippet in snippets:
        if not snippet.name and snippet.title not in NOT_RUN:
            raise Failed(f"a snippet in {snippet.language} has no name:\n{snippet.text}")
        if snippet.title not in NOT_RUN and snippet.language not in SUFFIX:
            raise Failed(f"it is not known how to run '{snippet.title}'")
    known = {snippet.beside() for snippet in snippets}
    for file in HERE.iterdir():
        if file not in known and file.with_suffix("") not in known:
            raise Failed(f"{file.name} belongs to no snippet of README.md")


def main() -> int:
    """Runs them all; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / ".build" / "readme")
    build = parser.parse_args().build.resolve()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    snippets = [Snippet(m[1], m[2] or "", m[3]) for m in FENCE.finditer(readme)]
    if readme.count("\n```") != 2 * len(snippets):
        print("README.md has fences that are not seen", file=sys.stderr)
        return 1
    try:
        check_marks(snippets)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    passed = failed = 0
    to_run = []
    for snippet in snippets:
        if snippet.title in NOT_RUN:
            print(f"not run {snippet.title}: {NOT_RUN[snippet.title]}")
            if snippet.language == "sh":
                command("bash", "-n", "-c", snippet.text)
        else:
            to_run.append(snippet)
    workshop = Workshop(build)
    for snippet in to_run:
        program = workshop.home / f"{snippet.name}.{SUFFIX[snippet.language]}"
        if snippet.language in ("c", "cpp", "python"):
            program.write_text(snippet.whole(), encoding="utf-8")
    try:
        workshop.build_swift([snippet for snippet in to_run if snippet.language == "swift"])
    except Failed as error:
        print(f"the Swift snippets do not build: {error}")
    for snippet in sorted(to_run, key=lambda snippet: snippet.language != "sh"):
        try:
            workshop.run(snippet)
        except Failed as error:
            failed += 1
            print(f"FAILED  {snippet.title}: {error}")
        else:
            passed += 1
            print(f"ok      {snippet.title}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
