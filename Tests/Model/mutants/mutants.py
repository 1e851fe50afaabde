"""Takes one thing away from the engine at a time, to see which test notices.

Writes a copy of the engine's sources in which each compare-exchange's check,
each lock, each flag's set or test, each wake, each comparison of generations
and each guard can be switched off by a number, at run time; and the list of
these mutants, a line each: number, kind, file and line, and the code.

    mutants.py SOURCES OUTPUT

impossible.txt has the code of those that do not compile.
"""

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

OPEN, CLOSE = "([{", ")]}"
IMPOSSIBLE = Path(__file__).with_name("impossible.txt")


@dataclass
class Mutant:
    """One thing that can be taken away."""

    kind: str
    place: str
    code: str
    # Its number among the mutants with this code in its file, to name it when
    # lines move.
    occurrence: int

    @property
    def key(self) -> str:
        file = self.place.split(":", maxsplit=1)[0]
        return "\t".join([file, self.kind, self.code, str(self.occurrence)])


class Mutator:
    """Rewrites files, and numbers what can be taken away."""

    def __init__(self, without: set[str]) -> None:
        self.without = without
        self.mutants: list[Mutant] = []
        self.counts: Counter[tuple[str, str, str]] = Counter()

    def number(self, kind: str, place: str, code: str) -> int | None:
        """The number of a new mutant; None if there is none."""
        code = " ".join(code.split())
        file = place.split(":", maxsplit=1)[0]
        if f"{file}: {code}" in self.without:
            return None
        self.counts[file, kind, code] += 1
        self.mutants.append(Mutant(kind, place, code, self.counts[file, kind, code]))
        return len(self.mutants)

    def rewrite(self, text: str, name: str) -> str:
        lines = self.conditions(text, name).split("\n")
        return "\n".join(
            self.line(line, f"{name}:{i + 1}", code.strip())
            for i, (line, code) in enumerate(zip(lines, text.split("\n"), strict=True))
        )

    # A statement on a line of its own.
    SETS = re.compile(
        r"^(\s*)((?:[\w.!?]+|\S*\)!?)(?:\.[\w!?]+)*\.(?:insert|remove)\((?:\.\w+|\[[^\]]*\])\))$"
    )
    ASSIGNS = re.compile(r"^(\s*)([\w.!?]*\b(?:is|has|may)[A-Z]\w* = (?:true|false))$")
    STORES = re.compile(
        r"^(\s*)((?!return|let|var|if|guard|while)[\w.!?()]+\.(?:store|bitwiseOr|bitwiseAnd)\(.*\))$"
    )
    WAKES = re.compile(r"^(\s*)((?:[\w.!?]+\.)?(?:wakeOne|wakeAll|wakeThread|wake)\(.*\))$")
    BLOCK_WAKES = re.compile(
        r"^(\s*)(if .*) \{ ((?:[\w.!?]+\.)?(?:wake|wakeOne|wakeAll)\(.*\)) \}$"
    )
    CAS = re.compile(r"(\w[\w.!?]*)\.(compareExchange|weakCompareExchange)\(")
    LOCKS = re.compile(r"(\w[\w.!?]*[lL]ock)\.(lock|lockPatiently)\(\)")
    WITH_LOCK = re.compile(r"(\w[\w.!?]*[lL]ock)\.withLock \{")

    def line(self, line: str, place: str, code: str) -> str:
        if line.lstrip().startswith("//"):
            return line
        for kind, pattern in (
            ("flag set", self.SETS),
            ("flag set", self.ASSIGNS),
            ("store", self.STORES),
            ("wake", self.WAKES),
        ):
            match = pattern.match(line)
            if match:
                number = self.number(kind, place, match[2])
                if number:
                    return f"{match[1]}if !inturn_model_is({number}) {{ {match[2]} }}"
        match = self.BLOCK_WAKES.match(line)
        if match:
            number = self.number("wake", place, match[3])
            if number:
                return f"{match[1]}{match[2]} {{ if !inturn_model_is({number}) {{ {match[3]} }} }}"
        for kind, pattern, text in (
            ("lock", self.LOCKS, r"\1.\2(mutant: {})"),
            ("lock", self.WITH_LOCK, r"\1.withLock(mutant: {}) {{"),
            ("compare-exchange", self.CAS, r"\1.\2(mutant: {}, "),
        ):
            match = pattern.search(line)
            if match and "func " not in line:
                number = self.number(kind, place, code)
                if number:
                    line = pattern.sub(text.format(number), line, count=1)
        return line

    # What a condition that is a mutant is about: flags, generations, exchanges,
    # and anything that is checked again after taking a lock.
    ABOUT = re.compile(
        r"generation|\bepoch|contains\(\.|contains\(\[|isDisjoint|\.exchanged|\.exchange\("
        r"|\.load\(|refusalLocked"
    )

    def is_ours(self, text: str, at: int, clause: str) -> bool:
        if self.ABOUT.search(clause):
            return True
        before = text[:at].rsplit("\n", 4)[1:]
        return any(re.search(r"\block\(\)$|lockPatiently\(\)$", line) for line in before)

    KEYWORD = re.compile(r"(?<![\w.])(if|guard)\b")

    def conditions(self, text: str, name: str) -> str:
        out, at = [], 0
        for match in self.KEYWORD.finditer(text):
            if match.start() < at or self.is_in_comment(text, match.start()):
                continue
            end = self.end_of_conditions(text, match.end(), match[1])
            if end is None:
                continue
            out.append(text[at : match.end()])
            out.append(self.clauses(text, match.end(), end, match[1], name))
            at = end
        out.append(text[at:])
        return "".join(out)

    @staticmethod
    def is_in_comment(text: str, at: int) -> bool:
        line = text[text.rfind("\n", 0, at) + 1 : at]
        return "//" in line or line.count('"') % 2 == 1

    @staticmethod
    def end_of_conditions(text: str, at: int, keyword: str) -> int | None:
        depth = 0
        while at < len(text):
            if text[at] == "{" and depth == 0:
                return at if keyword == "if" else None
            if keyword == "guard" and depth == 0 and re.match(r"\belse\b", text[at:]):
                return at
            depth += (text[at] in OPEN) - (text[at] in CLOSE)
            if depth < 0:
                return None
            at += 1
        return None

    def clauses(self, text: str, begin: int, end: int, keyword: str, name: str) -> str:
        parts, depth, start = [], 0, begin
        for at in range(begin, end):
            depth += (text[at] in OPEN) - (text[at] in CLOSE)
            if text[at] == "," and depth == 0:
                parts.append((start, at))
                start = at + 1
        parts.append((start, end))
        done = []
        for first, last in parts:
            clause = text[first:last]
            bare = clause.strip()
            is_test = not re.match(r"(let|var|case)\b|#|_ =", bare) and self.is_ours(
                text, begin, bare
            )
            # A clause on a line of its own is matched later, by the patterns
            # for lines.
            if not is_test or "//" in clause or self.LOCKS.search(bare):
                done.append(clause)
                continue
            place = f"{name}:{text.count(chr(10), 0, text.index(bare, first)) + 1}"
            number = self.number(f"{keyword} test", place, bare)
            if not number:
                done.append(clause)
                continue
            lead = clause[: len(clause) - len(clause.lstrip())]
            tail = clause[len(clause.rstrip()) :]
            how = (
                f"(inturn_model_is({number}) || ({bare}))"
                if keyword == "guard"
                else f"(!inturn_model_is({number}) && ({bare}))"
            )
            done.append(f"{lead}{how}{tail}")
        return ",".join(done)


def write(sources: Path, target: Path) -> list[Mutant]:
    """Writes the rewritten sources that have changed; returns their mutants."""
    mutator = Mutator(set(IMPOSSIBLE.read_text().splitlines()))
    known = set()
    for path in sorted(sources.rglob("*.swift")):
        name = str(path.relative_to(sources))
        text = path.read_text()
        # Not the code that the seam is built from, or words that are tested as
        # values.
        if name not in {"Foundations/BriefLock.swift", "Foundations/Sleeping.swift"}:
            text = mutator.rewrite(text, name)
            if "import CInturnSystem" not in text:
                text = "import CInturnSystem\n" + text
        if name == "Foundations/BriefLock.swift":
            store = "word.store(0, ordering: .releasing)"
            assert store in text
            held = "withUnsafePointer(to: word, { inturn_model_unlocks_nothing($0) })"
            text = text.replace(store, f"if !{held} {{ {store} }}")
        # The rewritten calls' targets are not visible to other modules.
        text = text.replace("@inlinable", "@usableFromInline")
        file = target / name
        known.add(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    for file in target.rglob("*.swift"):
        if file not in known and file.name != "Mutants.swift":
            file.unlink()
    return mutator.mutants


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    print(len(write(arguments.sources, arguments.output)), "mutants", file=sys.stderr)


if __name__ == "__main__":
    main()
