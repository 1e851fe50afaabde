"""Finding and loading the library."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from inturn import _library
from inturn._library import lib
from support import REPOSITORY, run_python


def test_an_error_names_all_that_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> ctypes.CDLL:
        raise OSError(f"no {name} today")

    monkeypatch.delenv("INTURN_LIBRARY", raising=False)
    monkeypatch.setattr(_library, "_Library", refuse)
    with pytest.raises(ImportError) as caught:
        _library._load()
    package = Path(_library.__file__).parent
    for place in (package, REPOSITORY / ".build" / "release", REPOSITORY / ".build" / "debug"):
        assert f"no {place / _library._NAME} today" in str(caught.value)
    assert f"no {_library._NAME} today" in str(caught.value)


def test_the_environment_names_the_only_one_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTURN_LIBRARY", "/no/such/library.so")
    with pytest.raises(ImportError, match=r"/no/such/library\.so"):
        _library._load()


def test_an_import_without_a_library_is_an_import_error() -> None:
    program = (
        "import os\n"
        "os.environ['INTURN_LIBRARY'] = '/no/such/library.so'\n"
        "try:\n"
        "    import inturn\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    assert "/no/such/library.so" in run_python(program).stdout


@pytest.mark.parametrize("version", [(1, 0, 0), (0, 999, 0)])
def test_a_library_of_another_major_or_an_older_minor_version_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(_library, "HEADER_VERSION", version)
    with pytest.raises(ImportError, match="it has version"):
        _library._check_version(lib)


def test_another_library_is_refused() -> None:
    with pytest.raises(ImportError, match="it has no inturn_version"):
        _library._check_version(_library._Library(None))
