"""Doxygen's input filter for inturn.h: prints the file with documentation comments.

The header's comments are plain C comments for people who read the header.  Here each becomes
what Doxygen takes for the documentation of the declaration that it stands before or behind:

- the prologue becomes the main page, its numbered sections the page's sections;
- a line such as ``/* Queues ---- */`` begins a group, which lasts until the next one;
- a comment between two blank lines describes its group;
- ``Statuses:``, ``Threads:`` and the like become paragraphs with a heading;
- names that the header declares, statuses and "section 9" become links.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DIVIDER = re.compile(r"/\* (\w+) -+ \*/")
INTRODUCTION = re.compile(r"\n\n(/\*(?:[^*]|\*(?!/))*\*/)\n(?=\n|/\* clang-format off)")
SECTION = re.compile(r"^(\d+)\. (.+)\n-+$", re.MULTILINE)
LABEL = re.compile(r"^(Statuses|Threads|Deadlock|Ownership|Memory): *", re.MULTILINE)
# What is declared: functions, function types, the rest of types, enumerators, macros.
DECLARED = re.compile(
    r"\b(inturn_\w+)\(|\(\*(inturn_\w+)\)|^}? ?(?:typedef )?(?:enum|struct)? ?(inturn_\w+)[ ;]"
    r"|^\s+(INTURN_\w+)(?: = -?\d+)?,?\s|^#define (INTURN_\w+)|^} (inturn_\w+);"
    r"|^typedef struct (inturn_\w+)",
    re.MULTILINE,
)
WORD = re.compile(r"\b(?:inturn|INTURN|E)_\w*\w\b(?!\*)")
# Comments that speak to tools, or of what is no declaration.
PLAIN = re.compile(r"/\* (clang-format |Nullability )")
HIDDEN = {"INTURN_NONNULL", "INTURN_NULLABLE", "INTURN_H"}
# Declarations whose documentation follows from their form.
HANDLE = re.compile(r"^typedef struct inturn_(\w+) \{ uint64_t bits; \}", re.MULTILINE)
INITIALISER = re.compile(r"^#define (INTURN_\w+_INIT)\b", re.MULTILINE)


def declared(code: str) -> set[str]:
    """The names that the header declares; the code has no comments any more."""
    names = {name for match in DECLARED.finditer(code) for name in match.groups() if name}
    return names - HIDDEN


def escape(text: str) -> str:
    """The text without what Doxygen would take for a command or for HTML."""
    return re.sub(r"([\\@&$#<>%])", r"\\\1", text)


def link(text: str, names: set[str]) -> str:
    """The escaped text with links to what it names."""

    def refer(match: re.Match[str]) -> str:
        word = match[0]
        name = f"INTURN_{word}" if word.startswith("E_") else word
        return rf'\ref {name} "{word}"' if name in names else word

    # What is code already stays as it is.
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [WORD.sub(refer, escape(part)) for part in parts[::2]]
    text = "".join(parts)
    text = re.sub(r"\b([Ss]ections?) (\d+)", r'\\ref manual_\2 "\1 \2"', text)
    text = re.sub(r"\((see|see section) (\d+)\)", r'(see \\ref manual_\2 "section \2")', text)
    return re.sub(r'(?<!")\bhandle statuses\b', r'\\ref manual_3 "handle statuses"', text)


def body(comment: str) -> str:
    """What a comment says, without its marks and its indentation."""
    lines = comment[2:-2].split("\n")
    lines = [re.sub(r"^ \* ?", "", line) if line.startswith(" *") else line for line in lines]
    return "\n".join([lines[0].strip(), *(re.sub(r"^ {3}", "", line) for line in lines[1:])])


def document(comment: str, names: set[str], mark: str) -> str:
    """A documentation comment with as many lines."""
    text = "\n".join(line.strip() for line in body(comment).split("\n"))
    text = LABEL.sub(r"@@\1@@", text)
    text = link(text, names)
    text = re.sub(r"(?:\n)?\\@\\@(\w+)\\@\\@", r"\n\\par \1\n", text)
    return f"{mark} {text.strip()} */"


def paragraph(text: str, names: set[str]) -> str:
    """A paragraph of the manual; an indented one is code, a table, or set off."""
    if not text.startswith("  "):
        return link(text, names)
    if re.search(r";\s*(//.*)?$|[{}]", text, re.MULTILINE):
        return f"\\code{{.c}}\n{text}\n\\endcode"
    if re.search(r"\S {2,}\S", text):
        return f"\\verbatim\n{text}\n\\endverbatim"
    return f"<blockquote>{link(text, names)}</blockquote>"


def manual(prologue: str, names: set[str]) -> str:
    """The main page, made of the header's prologue."""
    lines = [re.sub(r"^ \* ?", "", line) for line in prologue[2:-2].strip("\n").split("\n")]
    _, *parts = SECTION.split("\n".join(lines).rstrip())
    pages = ["\\mainpage The manual of inturn.h", "\\tableofcontents"]
    for number, title, text in zip(parts[0::3], parts[1::3], parts[2::3], strict=True):
        pages.append(f"\\section manual_{number} {number}. {title}")
        pages += [paragraph(part, names) for part in text.strip("\n").split("\n\n")]
    return "/** " + "\n\n".join(pages) + "\n*/"


def convert(source: str) -> str:
    """The header as Doxygen is to read it."""
    names = declared(COMMENT.sub("", source))
    group = ""
    seen_prologue = False

    def replace(match: re.Match[str]) -> str:
        nonlocal group, seen_prologue
        comment = match[0]
        before = source[: match.start()].rpartition("\n")[2]
        after = source[match.end() :]
        if not seen_prologue:
            seen_prologue = True
            return manual(comment, names) + "\n/** \\file */"
        if PLAIN.match(comment) or comment == "/* INTURN_H */":
            return comment
        if divider := DIVIDER.fullmatch(comment):
            end = "/** @} */\n" if group else ""
            group = divider[1].lower()
            about = INTRODUCTION.match(after)
            text = document(about[1], names, "")[1:-3] if about else ""
            return f"{end}/** \\defgroup {group} {divider[1]}\n{text}\n@{{ */"
        if before.strip():
            return document(comment, names, "/**<")
        if INTRODUCTION.match("\n\n" + source[match.start() :]):
            return ""  # It is told with its group.
        return document(comment, names, "/**")

    result = COMMENT.sub(replace, source)
    result = HANDLE.sub(
        r'/** Names one \1, or none: see \\ref manual_3 "section 3". */'
        "\n"
        r"typedef struct inturn_\1 { uint64_t bits; /**< All zero: the null handle. */ }",
        result,
    )
    result = INITIALISER.sub(
        lambda match: f"/** The defaults of \\ref {match[1][:-5].lower()}. */\n{match[0]}", result
    )
    end = result.rindex("#ifdef __cplusplus")
    return f"{result[:end]}/** @}} */\n{result[end:]}"


if __name__ == "__main__":
    sys.stdout.write(convert(Path(sys.argv[1]).read_text(encoding="utf-8")))
