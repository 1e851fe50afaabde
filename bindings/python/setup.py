"""Builds the self-contained library into the wheel, and names the platform that it needs."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

BUILD_LIBRARY = Path(__file__).resolve().parents[1] / "c" / "build-library.sh"
NAME = "libinturn.so"

# Which version of the C library the versions of the C++ and compiler run-time libraries came with,
# in the manylinux policies: the newest that is needed decides.
COMPANIONS = {
    "GLIBCXX": (("3.4.19", 17), ("3.4.24", 28), ("3.4.28", 31), ("3.4.29", 34), ("3.4.30", 35)),
    "CXXABI": (("1.3.7", 17), ("1.3.11", 28), ("1.3.12", 31), ("1.3.13", 35)),
    "GCC": (("4.8.0", 17), ("8.0.0", 28), ("9.0.0", 31), ("12.0.0", 35)),
}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def platform_tag(library: Path) -> str:
    """The oldest Linux, by its C library, that has the symbols which the library needs."""
    needed = re.findall(rb"\0(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)(?=\0)", library.read_bytes())
    minor = 17
    for name, version in {(name.decode(), version.decode()) for name, version in needed}:
        if name == "GLIBC":
            minor = max(minor, numbers(version)[1])
            continue
        policies = COMPANIONS[name]
        fitting = [of for newest, of in policies if numbers(version) <= numbers(newest)]
        if not fitting:
            sys.exit(f"{library}: needs {name}_{version}, of which no policy is known")
        minor = max(minor, fitting[0])
    return f"manylinux_2_{minor}_{platform.machine()}"


class BuildWithLibrary(build_py):
    """Puts the library beside the modules."""

    def run(self) -> None:
        # What an earlier build has left may be no module any more.
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if self.editable_mode:
            return  # it is found where it is built
        if not BUILD_LIBRARY.is_file():
            sys.exit(f"{BUILD_LIBRARY} is missing: a wheel is built in the repository")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([str(BUILD_LIBRARY), "--output", folder], check=True)
            target = Path(self.build_lib) / "inturn" / NAME
            # The file itself, whichever of its names: a wheel holds no links.
            self.copy_file(str((Path(folder) / NAME).resolve()), str(target))


class WheelOfPlatform(bdist_wheel):
    """For any Python 3, and one platform."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        library = Path(self.get_finalized_command("build_py").build_lib) / "inturn" / NAME
        return "py3", "none", platform_tag(library)


class WithLibrary(Distribution):
    """It is not the same on every platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfPlatform},
    distclass=WithLibrary,
)
