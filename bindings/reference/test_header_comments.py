"""Tests of Doxygen's input filter, and that nothing in inturn.h is without a comment."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from header_comments import COMMENT, DIVIDER, PLAIN, convert, declared

HEADER = Path(__file__).parents[2] / "include" / "inturn.h"
SAMPLE = """\
/*
 * sample.h - a sample.
 *
 * 1. What it is
 * -------------
 * As section 1 says, inturn_go gives E_STALE; inturn_value_* are others.
 *
 *     inturn_go(0);  // code
 */
#ifndef SAMPLE_H

/* Status ------ */

/* What a call
   comes to. */

/* How it went. */
typedef enum inturn_status {
  INTURN_E_STALE = -3, /* gone */
  /* Of <another> kind. */
  INTURN_E_WRONG_KIND = -4
} inturn_status;

/* clang-format off */
typedef struct inturn_token { uint64_t bits; } inturn_token;

#define INTURN_GO_OPTIONS_INIT { 0 }

/* Goes.
   Statuses: E_STALE,
   handle statuses.
   Threads: any. */
inturn_status inturn_go(int x);

#ifdef __cplusplus
}
#endif
"""
EXPECTED = (
    r'As \ref manual_1 "section 1" says, \ref inturn_go "inturn_go" gives',
    r'gives \ref INTURN_E_STALE "E_STALE"; inturn_value_* are others.',
    "\\code{.c}\n    inturn_go(0);  // code\n\\endcode",
    "/** \\defgroup status Status\nWhat a call\ncomes to.\n@{ */",
    "/** How it went. */\ntypedef enum inturn_status {",
    "INTURN_E_STALE = -3, /**< gone */",
    r"/** Of \<another\> kind. */",
    "/* clang-format off */",
    '/** Names one token, or none: see \\ref manual_3 "section 3". */\ntypedef struct',
    "/** The defaults of \\ref inturn_go_options. */\n#define INTURN_GO_OPTIONS_INIT",
    "/** Goes.\n\\par Statuses\n"
    '\\ref INTURN_E_STALE "E_STALE",\n\\ref manual_3 "handle statuses".\n'
    "\\par Threads\nany. */\ninturn_status inturn_go(int x);",
    "/** @} */\n#ifdef __cplusplus",
)
# What a declaration begins with, at the left margin.
DECLARATION = re.compile(r"(?:typedef|const|uint32_t|inturn_status|#define INTURN_\w+)\b")


def undocumented(header: str) -> list[str]:
    """The declarations without a comment just above them, or above their block."""
    missing = []
    code = False  # Whether a declaration that has a comment is just above.
    header = COMMENT.sub(lambda comment: comment[0].replace("\n\n", "\n"), header)
    for block in re.split(r"\n{2,}", header.partition("#ifdef __cplusplus")[2]):
        lines = block.split("\n")
        told = False
        for number, line in enumerate(lines):
            if line.startswith("/*") and not (DIVIDER.fullmatch(line) or PLAIN.match(line)):
                told = True
            code = bool(DECLARATION.match(line)) and line != "#define INTURN_H"
            by_form = "{ uint64_t bits; }" in line or re.search(r"_INIT\b", line)
            if code and not told and not by_form:
                missing.append(f"{number}: {line}")
    return missing


def main() -> int:
    """Runs the tests; prints how they went, and returns the exit status."""
    failures = []
    result = convert(SAMPLE)
    failures += [f"missing in the result: {text!r}" for text in EXPECTED if text not in result]
    # Comments are all that changes.
    left = COMMENT.sub("", result).split()
    if left != COMMENT.sub("", SAMPLE).split():
        failures.append(f"the code has changed: {left}")

    header = HEADER.read_text(encoding="utf-8")
    names = declared(COMMENT.sub("", header))
    calls = set(re.findall(r"\b(inturn_\w+)\(", COMMENT.sub("", header)))
    failures += [f"not seen as declared: {name}" for name in sorted(calls - names)]
    failures += [f"without a comment: {line}" for line in undocumented(header)]
    unseen = undocumented(
        "#ifdef __cplusplus\n\n/* Told. */\nuint32_t a(void);\n\nuint32_t b(void);"
    )
    if unseen != ["0: uint32_t b(void);"]:
        failures.append(f"the check of comments finds {unseen}")

    print("\n".join(failures) or "the filter of inturn.h: as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
