"""Builds the self-contained library into the wheel, and names the platform that it needs.

``INTURN_PROCESSOR`` in the environment, ``x86_64`` or ``aarch64``, is another than this machine's.
The wheel's links lead to where the clone is from, or to ``INTURN_HOME``, the repository's page.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import zopfli
from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

BUILD_LIBRARY = Path(__file__).resolve().parents[1] / "c" / "build-library.sh"
NAME = "libinturn.so"
PROGRAM = "inturn"
DEBUGGER = "inturn-gdb.py"
PROCESSOR = os.environ.get("INTURN_PROCESSOR") or platform.machine()


def platform_tag(library: Path) -> str:
    """The oldest Linux, by its C library, that has the symbols which the library needs."""
    needed = re.findall(rb"\0GLIBC_2\.([0-9]+)", library.read_bytes())
    tag = f"manylinux_2_{max(17, *map(int, needed))}_{PROCESSOR}"
    # The older name of the same.
    return tag.replace("manylinux_2_17_", f"manylinux2014_{PROCESSOR}.manylinux_2_17_")


def links() -> dict[str, str]:
    """The project's pages; none where it was not cloned from a public one."""
    home = os.environ.get("INTURN_HOME")
    if home is None and BUILD_LIBRARY.is_file() and shutil.which("git"):
        command = ["git", "-C", str(BUILD_LIBRARY.parent), "config", "remote.origin.url"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        home = asked.stdout.strip()
    if not home or not home.startswith("https://"):
        return {}
    home = home.removesuffix(".git")
    return {
        "Source": home,
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
    }


def compress_more(wheel: Path) -> None:
    """Writes it again, smaller than zlib can."""
    with zipfile.ZipFile(wheel) as before:
        files = [(info, before.read(info)) for info in before.infolist()]
    with zopfli.ZipFile(wheel, "w") as after:
        for info, data in files:
            after.writestr(info, data)


class BuildWithLibrary(build_py):
    """Puts the library, and the program that looks into processes, beside the modules."""

    def run(self) -> None:
        if not self.editable_mode and not BUILD_LIBRARY.is_file():
            sys.exit(
                "inturn: its library is missing, whose Swift sources are not part of an sdist:"
                " install a wheel, or build one in a clone of the repository"
            )
        # What an earlier build has left may be no module any more.
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if self.editable_mode:
            return  # it is found where it is built
        with tempfile.TemporaryDirectory() as folder:
            command = [BUILD_LIBRARY, "--output", folder, "--processor", PROCESSOR]
            subprocess.run(command, check=True)
            for name in (NAME, PROGRAM, DEBUGGER):
                target = Path(self.build_lib) / "inturn" / name
                # The file itself, whichever of its names: a wheel holds no links.
                self.copy_file(str((Path(folder) / name).resolve()), str(target))


class WheelOfPlatform(bdist_wheel):
    """For any Python 3, and one platform."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        library = Path(self.get_finalized_command("build_py").build_lib) / "inturn" / NAME
        return "py3", "none", platform_tag(library)

    def run(self) -> None:
        super().run()
        for _command, _version, path in self.distribution.dist_files:
            compress_more(Path(path))


class WithLibrary(Distribution):
    """It is not the same on every platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfPlatform},
    distclass=WithLibrary,
    project_urls=links(),
)
