"""What an interrupt leaves of a queue, wherever it comes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support import run_python

# An operation that is awaited by its state goes through many more.
_MOST = 500


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="where older versions handle signals is not known"
)
@pytest.mark.parametrize(
    ("kind", "use"),
    [
        *[("FIFOQueue", use) for use in ("run", "options", "retry", "block", "run_on")],
        *[("FIFOQueue", use) for use in ("submit", "retried", "enqueue", "batch", "value")],
        *[("ActorQueue", use) for use in ("run", "options")],
        *[("OperationQueue", use) for use in ("run", "retry")],
    ],
)
def test_a_queue_goes_on_after_an_interrupt_at_any_point(kind: str, use: str) -> None:
    ended = run_python(
        f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
sys.unraisablehook = lambda _: None  # operations that failed, and nobody was told
import interrupted
print(interrupted.run({kind!r}, {use!r}, {_MOST}))
""",
        "-W",
        "ignore",
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 50, ended.stdout
