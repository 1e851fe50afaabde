"""The table of prototypes matches the header."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import pytest

import inturn
from inturn import _prototypes as c
from inturn._errors import BY_STATUS
from support import REPOSITORY, run_python


def header() -> str:
    """The header without comments, preprocessor lines and nullability."""
    text = (REPOSITORY / "include" / "inturn.h").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = text.replace("\\\n", " ")
    text = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\bINTURN_(NONNULL|NULLABLE)\b", "", text)
    return re.sub(r"\s+", " ", text)


HEADER = header()
FUNCTIONS = re.findall(r"(?<!typedef )\b((?:const )?\w+ ?\*? ?)(inturn_\w+)\(([^()]*)\);", HEADER)
STRUCTS = {
    name: body for body, name in re.findall(r"typedef struct \w+ \{([^{}]*)\} (\w+);", HEADER)
}
ENUMS = {name: body for body, name in re.findall(r"typedef enum \w+ \{([^{}]*)\} (\w+);", HEADER)}
SIZES = re.findall(
    r"_Static_assert\(sizeof\((\w+)\) == (\d+)",
    (REPOSITORY / "Sources" / "CInturn" / "CInturn.c").read_text(),
)

SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "char": ctypes.c_char,
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}


def type_of(declaration: str) -> Any:
    """The ctypes type of a declaration such as ``const char * label``."""
    words = declaration.replace("*", " * ").split()
    pointers = words.count("*")
    name = next(word for word in words if word not in ("const", "*"))
    if name == "char" and pointers == 2:
        return ctypes.POINTER(ctypes.c_char_p)
    if name in ("char", "void") and pointers == 1:
        return ctypes.c_char_p if name == "char" else ctypes.c_void_p
    if name == "void" and pointers == 2:
        return ctypes.POINTER(ctypes.c_void_p)
    kind = ctypes.c_int if name in ENUMS else SCALARS.get(name) or getattr(c, name)
    if array := re.search(r"\[(\d+)\]", declaration):
        return kind * int(array[1])
    return ctypes.POINTER(kind) if pointers else kind


def values_of(enum: str) -> dict[str, int]:
    """The constants of an enum in the header, by name."""
    values: dict[str, int] = {}
    number = -1
    for entry in ENUMS[enum].split(","):
        name, _, value = (part.strip() for part in entry.partition("="))
        number = int(value) if value else number + 1
        values[name] = number
    return values


def test_the_table_names_every_function_of_the_header_and_no_other_in_its_order() -> None:
    assert [name for _, name, _ in FUNCTIONS] == list(c.FUNCTIONS)
    assert len(FUNCTIONS) > 40


@pytest.mark.parametrize(("result", "name", "arguments"), FUNCTIONS)
def test_a_function_has_the_types_that_the_header_gives_it(
    result: str, name: str, arguments: str
) -> None:
    declared = [] if arguments.strip() == "void" else arguments.split(",")
    assert c.prototype(name) == (type_of(result), [type_of(each) for each in declared])


@pytest.mark.parametrize(("name", "body"), STRUCTS.items(), ids=STRUCTS.keys())
def test_a_struct_has_the_fields_that_the_header_gives_it(name: str, body: str) -> None:
    fields = [
        (re.findall(r"\w+", field.split("[")[0])[-1], type_of(field))
        for field in body.split(";")
        if field.strip()
    ]
    assert list(getattr(c, name)._fields_) == fields


def test_a_struct_has_the_size_that_the_compiler_asserts() -> None:
    sizes = [(name, int(size)) for name, size in SIZES if name in STRUCTS]
    assert len(sizes) > 10
    assert [(name, ctypes.sizeof(getattr(c, name))) for name, _ in sizes] == sizes


def test_only_types_of_the_header_are_made() -> None:
    for name in ("inturn_nothing", "queue", "inturn_*queue"):
        with pytest.raises(AttributeError, match="has no attribute"):
            getattr(c, name)


def test_threads_that_ask_for_a_type_first_get_the_same_one() -> None:
    ended = run_python("""
import sys, threading
from inturn import _prototypes as c
assert not {"inturn_report", "inturn_entry", "inturn_operation_options"} & vars(c).keys()
sys.setswitchinterval(1e-6)
barrier, got = threading.Barrier(8), []
def ask():
    barrier.wait()
    got.append((c.inturn_report, c.inturn_entry, c.prototype("inturn_queue_enqueue_with")[1][1]))
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(got) == 8 and len({tuple(map(id, each)) for each in got}) == 1, got
""")
    assert ended.returncode == 0, ended.stderr


def test_each_status_has_its_exception() -> None:
    def exception(status: str) -> str:
        words = status.replace("INTURN_E_", "").split("_")
        return "".join(word.capitalize() for word in words) + "Error"

    statuses = values_of("inturn_status")
    assert statuses.pop("INTURN_OK") == 0
    expected = {number: exception(name) for name, number in statuses.items()}
    assert {number: error.__name__ for number, error in BY_STATUS.items()} == expected
    assert all(getattr(inturn, name) is BY_STATUS[n] for n, name in expected.items())


@pytest.mark.parametrize(
    ("enum", "prefix", "python"),
    [
        ("inturn_outcome", "INTURN_", inturn.Outcome),
        ("inturn_cause", "INTURN_CAUSE_", inturn.Cause),
        ("inturn_operation_state", "INTURN_", inturn.State),
        ("inturn_report_kind", "INTURN_REPORT_", inturn.ReportKind),
        ("inturn_change_kind", "INTURN_CHANGE_", inturn.ChangeKind),
    ],
)
def test_an_enum_has_the_values_of_the_header(enum: str, prefix: str, python: Any) -> None:
    assert {prefix + each.name: each.value for each in python} == values_of(enum)


def test_the_kinds_of_queues_have_the_values_of_the_header() -> None:
    kinds = values_of("inturn_queue_kind")
    assert {name: getattr(c, name) for name in kinds} == kinds


def test_the_types_of_data_have_the_values_of_the_header() -> None:
    types = values_of("inturn_datum_type")
    assert {name: getattr(c, name) for name in types} == types


def test_the_table_is_of_the_headers_version() -> None:
    text = (REPOSITORY / "include" / "inturn.h").read_text()
    version = re.findall(r"#define INTURN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)
    assert tuple(map(int, version)) == c.HEADER_VERSION
