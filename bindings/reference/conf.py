"""How Sphinx makes the site of the guide and the reference; build.sh calls it."""

from __future__ import annotations

import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.inspect import stringify_signature
from sphinx.util.logging import getLogger

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/python/src"))

project = "Inturn"
author = "the authors of Inturn"
project_copyright = "the authors of Inturn"
header = (ROOT / "include/inturn.h").read_text(encoding="utf-8")
release = ".".join(re.findall(r"#define INTURN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

extensions = ["breathe", "myst_parser", "sphinx.ext.autodoc", "sphinx_inline_tabs"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# A name between single quotes is a link, as in the docstrings, and has to lead somewhere.
default_role = "any"
highlight_language = "none"
nitpicky = True
nitpick_ignore_regex = [
    # Where a struct is declared, which is always there.
    (r"std:ref", r"inturn_8h"),
    # What is not this project's.
    (r"c:identifier", r"(u?int(32|64)|size)_t"),
    (r"py:(class|exc)", r"(asyncio|collections|concurrent|contextlib|ctypes)\..*"),
    (r"py:(class|exc)", r"(tkinter|trio|types)\..*"),
    # Aliases, and templates with their arguments.
    (r"cpp:identifier", r".*"),
    # Type variables, and names that only annotations use.
    (
        r"py:(class|obj)",
        r"(.*\.)?(T|P|P\.args|P\.kwargs|Observer|Source|Peers|Run|R_co|Self|PooledOptions|QueueOptions)",
    ),
    # Parameters and modules.
    (r"any", r"attempts|context|glib|qt|ring|root|source|Source"),
]

# Some of Swift's examples leave something out, with dots.
suppress_warnings = ["misc.highlighting_failure"]

WORK = os.environ["INTURN_REFERENCE_WORK"]
breathe_projects = {"c": f"{WORK}/c", "cxx": f"{WORK}/cxx"}
breathe_default_project = "c"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}

autodoc_mock_imports = ["gi", "PySide6"]
autoclass_content = "both"
autodoc_member_order = "bysource"
add_module_names = False

html_theme = "furo"
html_title = "Inturn"
html_static_path = ["static"]
html_css_files = ["reading.css"]
html_js_files = ["reading.js"]
html_copy_source = False
html_show_sourcelink = False
# A page that was opened from disk may not read the pages that a search has found.
html_show_search_summary = False


def take_init(
    _app: Sphinx, what: str, _name: str, of: Any, _options: object, given: str | None, _result: str
) -> tuple[str, str] | None:
    """Of a queue, the arguments of ``__init__``: its ``__new__`` takes any."""
    if what != "class" or "_arguments" not in (given or ""):
        return None
    signature = inspect.signature(of.__init__)
    _, *arguments = signature.parameters.values()
    signature = signature.replace(parameters=arguments, return_annotation=signature.empty)
    return stringify_signature(signature, unqualified_typehints=True), ""


def say_missing(_app: Sphinx, env: BuildEnvironment) -> None:
    """Each public name is on some page: of the Python package, and of the C functions."""
    import inturn

    there = {name for domain in ("c", "py") for name, *_ in env.domains[domain].get_objects()}
    names = {f"inturn.{name}" for name in vars(inturn)["__all__"]}
    names |= set(re.findall(r"\b(inturn_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
    for name in sorted(names - there):
        getLogger(__name__).warning("no page of the reference has %s", name)


def setup(app: Sphinx) -> None:
    """What Sphinx calls."""
    app.connect("autodoc-process-signature", take_init)
    app.connect("env-check-consistency", say_missing)
