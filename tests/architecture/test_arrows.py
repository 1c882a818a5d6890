"""No module imports what its installation lacks; `make arrows` says which may import which."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("ingest.__main__", "ingest"),
        ("actuator.__main__", "actuator"),
        ("scheduler.__main__", "scheduler"),
        ("tidegate.serve.command", "serve"),
        ("tidegate.notify.receivers", "notify"),
    ],
)
def test_a_service_imports_nothing_that_its_image_lacks(module: str, extra: str) -> None:
    installed = closure("tidegate", frozenset({extra}))
    owners = packages_distributions().items()
    absent = [name for name, of in owners if installed.isdisjoint(map(canonicalize_name, of))]
    # None in place of a module: importing it fails, as if it were not installed.
    code = (
        f"import sys, importlib; sys.modules.update(dict.fromkeys({absent!r}));"
        f"importlib.import_module({module!r})"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def closure(name: str, extras: frozenset[str]) -> set[str]:
    """Return what an installation of a distribution with extras brings, itself included."""
    seen, open_ends = set[tuple[str, frozenset[str]]](), [(name, extras)]
    while open_ends:
        if (row := open_ends.pop()) in seen:
            continue
        seen.add(row)
        name, extras = row
        for text in requires(name) or ():
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": of}) for of in ("", *extras)):
                open_ends.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    return {name for name, _ in seen}
