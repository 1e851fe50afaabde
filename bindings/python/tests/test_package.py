"""The package as a whole: coverage of C, its imports, its installation."""

from __future__ import annotations

import ast
import email
import os
import platform
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import inturn
from inturn import _prototypes as c
from support import REPOSITORY, SOURCES, run_python

# What C can do and Python cannot, and why.
NOT_IN_PYTHON = {
    "inturn_executor_set_wake": "the callback would come on threads that Python does not know;"
    " Executor.fileno and Executor.wait tell the same",
    "inturn_executor_pool": "its threads are not Python's; queues without an executor have a pool"
    " of Python's threads",
    "inturn_executor_get_attached": "the data are C's; loops.attach returns Python's own object",
    "inturn_queue_drain": "Queue.drain says what is left",
    "inturn_report_send": "threading.excepthook and the warnings tell what Python notices",
    "inturn_token_abandon_at": "a RuntimeWarning names the line which enqueued the operation",
    "inturn_status_name": "each status is an exception, whose name says the same",
    # A value in Python holds objects, which are pointers to the library.
    **{
        f"inturn_value_{call}": "a Value holds objects of Python: Value.get, set and update"
        for call in (
            *("get_integer", "get_double", "get_boolean"),
            *("set_integer", "set_double", "set_boolean"),
            *("add", "add_double"),
        )
    },
}


def test_python_calls_all_of_c() -> None:
    text = "".join(
        path.read_text() for path in SOURCES.rglob("*.py") if path.name != "_prototypes.py"
    )
    called = set(re.findall(r"\b(?:lib|library|keeping)\.(inturn_\w+)", text))
    called |= {f"inturn_{name}" for name in re.findall(r"\b(?:quick|waiting)\.(\w+)", text)}
    # A function with a site does everything that the one without does.
    missing = {name for name in c.FUNCTIONS if not {name, f"{name}_at"} & called}
    assert missing == set(NOT_IN_PYTHON)


def test_every_public_name_is_documented() -> None:
    for name in vars(inturn)["__all__"]:  # which type checkers do not know
        value = getattr(inturn, name)
        if isinstance(value, type):
            assert value.__doc__, name


def test_every_parameter_of_a_constructor_is_explained() -> None:
    made = [inturn.FIFOQueue, inturn.OperationQueue, inturn.ActorQueue, inturn.InteractionQueue]
    for kind in (*made, inturn.Executor, inturn.Owner, inturn.Value):
        own = [vars(each)["__init__"] for each in kind.__mro__[:-1] if "__init__" in vars(each)]
        said = "".join(init.__doc__ or "" for init in own)
        for init in own:
            code = init.__code__
            for name in code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]:
                assert f"``{name}``" in said, (kind, name)


def test_the_version_is_the_librarys() -> None:
    assert ".".join(map(str, inturn.version())) == inturn.__version__


def run_module(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "inturn", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCES), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_module_says_what_works() -> None:
    ended = run_python("import runpy; runpy.run_module('inturn', run_name='__main__')")
    assert ended.returncode == 0, ended
    assert inturn.__version__ in ended.stdout
    assert inturn.library_path in ended.stdout
    assert ended.stdout.count(": works") == 3


@pytest.mark.parametrize("options", [[], ["-O"]])
def test_the_module_says_what_does_not_work(options: list[str]) -> None:
    # Each result is another one.
    ended = run_python(
        "import asyncio, inturn, runpy\n"
        "inturn.FIFOQueue.run = lambda *_: asyncio.sleep(0, 'another')\n"
        "inturn.Future.result = lambda *_: None\n"
        "runpy.run_module('inturn', run_name='__main__')",
        *options,
    )
    assert ended.returncode == 1, ended
    assert ended.stdout.count(": works") == 1
    assert "threads: RuntimeError: None instead of 3\n" in ended.stdout
    assert "asyncio: RuntimeError: 'another' instead of 3\n" in ended.stdout


def test_the_module_says_why_there_is_no_library() -> None:
    ended = run_module(INTURN_LIBRARY="/no/such/library.so")
    assert ended.returncode == 1
    assert "/no/such/library.so" in ended.stderr


def test_the_module_runs_the_program_that_is_with_the_library(tmp_path: Path) -> None:
    # Where a build has it, and where an install has it.
    for program in (tmp_path / "libinturn" / "inturn", tmp_path / "bin" / "inturn"):
        program.parent.mkdir()
        program.write_text('#!/bin/sh\necho "$0" "$@"; exit 3\n')
        program.chmod(0o755)
        library = tmp_path / "libinturn" / "libinturn.so"
        if not library.exists():
            shutil.copyfile(inturn.library_path, library)
        ended = run_module("why", "1", "a b", INTURN_LIBRARY=str(library))
        assert (ended.returncode, ended.stderr) == (3, "")
        assert ended.stdout == f"{program} why 1 a b\n"
        program.unlink()
    ended = run_module("ps", INTURN_LIBRARY=str(library), PATH="/nowhere")
    assert ended.returncode == 1
    assert ended.stderr == f"inturn: there is no program inturn beside {library}\n"


def test_what_is_imported_later_is_there_all_the_same() -> None:
    ended = run_python(
        "import sys, inturn\n"
        "assert not {'inturn._values', 'inturn._policies'} & sys.modules.keys()\n"
        "assert set(inturn.__all__) <= set(dir(inturn))\n"
        "from inturn import Value, BatchPolicy\n"
        "assert inturn.Value is Value is inturn.Value\n"
        "from inturn import *\n"
        "assert ManualClock is inturn.ManualClock\n"
        "assert not hasattr(inturn, 'Nothing')\n"
    )
    assert ended.returncode == 0, ended


def test_type_checkers_see_what_is_imported_later() -> None:
    tree = ast.parse(Path(inturn.__file__).read_text())
    seen = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname  # else it is not exported
    }
    assert seen == vars(inturn)["_LATER"]


def test_importing_it_imports_nothing_slow() -> None:
    program = "import sys, inturn; print(*(n for n in ('asyncio', 'inspect') if n in sys.modules))"
    assert run_python(program).stdout.split() == []


def pip_wheel(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    # With the setuptools that are installed: a test must not wait for a registry.
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    return subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(source)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = pip_wheel(REPOSITORY / "bindings" / "python", folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.timeout(700)
def test_a_wheel_has_the_tag_that_its_symbols_need(wheel: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (tag,) = re.findall(r'platform\s+tag:\s+"(\w+)"', shown.stdout)
    older_name = f"manylinux2014_{platform.machine()}"
    assert wheel.name == f"inturn-{inturn.__version__}-py3-none-{older_name}.{tag}.whl"


@pytest.mark.timeout(700)
def test_a_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 400_000


@pytest.mark.timeout(700)
def test_a_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        said = email.message_from_bytes(archive.read(name))
        licence = archive.read(name.replace("METADATA", f"licenses/{said['License-File']}"))
    assert licence == (REPOSITORY / "LICENSE").read_bytes()
    page = said.get_payload(decode=True)
    assert page == (REPOSITORY / "bindings/python/README.md").read_bytes()
    assert said["Summary"] == "Asynchronous work, in turn"
    assert said["Description-Content-Type"] == "text/markdown"
    assert said["License-Expression"] == "MIT"
    assert {"asyncio", "trio", "queue"} <= set(said["Keywords"].split(","))
    classifiers = set(said.get_all("Classifier", []))
    assert {"Framework :: AsyncIO", "Framework :: Trio", "Typing :: Typed"} <= classifiers


@pytest.mark.parametrize(
    ("home", "linked"),
    [
        (
            "https://forge.example/people/inturn.git",
            [
                "Source, https://forge.example/people/inturn",
                "Issues, https://forge.example/people/inturn/issues",
                "Changelog, https://forge.example/people/inturn/blob/main/CHANGELOG.md",
            ],
        ),
        ("/home/me/inturn", None),
    ],
)
def test_a_wheel_leads_to_where_the_project_is(
    home: str, linked: list[str] | None, tmp_path: Path
) -> None:
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", "dist_info", "--output-dir", str(tmp_path)],
        cwd=REPOSITORY / "bindings" / "python",
        env={**os.environ, "INTURN_HOME": home},
        capture_output=True,
        timeout=60,
        check=True,
    )
    (said,) = tmp_path.glob("*/METADATA")
    assert email.message_from_bytes(said.read_bytes()).get_all("Project-URL") == linked


def test_an_sdist_says_in_one_line_what_is_missing(tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "setup.py", "--quiet"),
            *("egg_info", "--egg-base", str(tmp_path), "sdist", "--dist-dir", str(tmp_path)),
        ],
        cwd=REPOSITORY / "bindings" / "python",
        capture_output=True,
        timeout=60,
        check=True,
    )
    (sdist,) = tmp_path.glob("*.tar.gz")
    built = pip_wheel(sdist, tmp_path)
    assert built.returncode != 0
    (line,) = [line for line in built.stderr.splitlines() if "Swift" in line]
    assert "library is missing" in line
    assert "install a wheel" in line


def test_the_wheels_page_runs() -> None:
    page = (REPOSITORY / "bindings/python/README.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    ended = run_python(program)
    assert (ended.returncode, ended.stdout) == (0, "saved a draft\nsaved the text\n"), ended.stderr


@pytest.mark.timeout(700)
def test_an_installed_wheel_works_where_there_is_no_swift(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=True)
    python = tmp_path / "bin" / "python"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    for command in (
        ["-m", "pip", "install", "--no-deps", "--no-index", str(wheel)],
        ["-m", "inturn", "ps"],
        ["-m", "inturn"],
    ):
        ended = subprocess.run(
            [str(python), *command],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
    assert str(tmp_path / "lib") in ended.stdout
    assert ended.stdout.count(": works") == 3
