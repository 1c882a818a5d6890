"""Every module and function of the product is reached from something that is started.

What a recipe of CONTRIBUTING.md forgets to list (a rule, a report, a command) is found so, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.syntax import outline

ROOT = Path(__file__).parents[2]
PACKAGES = ("actuator", "apiserver", "dispatcher", "ingest", "migrations", "scheduler", "store")
STARTED = re.compile(r"tidegate\.cli\.main|.*\.__main__|migrations\..*")
BELOW = ("", "tidegate.cli.commands.")  # where a name in a table of commands is looked up
WALKED = {"tidegate.jobs.registry": "tidegate.jobs."}

SCRIPTS = (ROOT / "pyproject.toml").read_text()
FOR_TESTS = {  # the product does the same in steps
    "audit_ledger",
    "expire_reports",
    "is_settled",
    "root_hash",
    "start_cluster",
    "stop_cluster",
}


def modules() -> dict[str, Path]:
    """Return every module but packages, by its dotted name."""
    paths = (path for name in (*PACKAGES, "tidegate") for path in (ROOT / name).rglob("*.py"))
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in paths
        if path.name != "__init__.py"
    }


def named(path: Path) -> Iterator[str]:
    """Yield what a module imports, and what may be a module's name in a table."""
    yield from outline(path).imported
    yield from (f"{prefix}{text}" for text in outline(path).texts for prefix in BELOW)


def reached(paths: dict[str, Path]) -> set[str]:
    """Return the modules that those which are started lead to."""
    seen, ahead = set[str](), {name for name in paths if STARTED.fullmatch(name)}
    while ahead:
        name = ahead.pop()
        seen.add(name)
        walked = WALKED.get(name)
        below = {other for other in paths if walked and other.startswith(walked)}
        ahead |= ({*named(paths[name])} & paths.keys() | below) - seen
    return seen


def test_no_module_is_unused() -> None:
    paths = modules()
    assert sorted(paths.keys() - reached(paths)) == []


def test_no_function_is_unused() -> None:
    outlines = {name: outline(path) for name, path in modules().items()}
    packages = [outline(path) for name in PACKAGES for path in (ROOT / name).rglob("__init__.py")]
    used = frozenset[str]().union(*(each.used for each in (*outlines.values(), *packages)))
    unused = {
        f"{module}:{name}"
        for module, each in outlines.items()
        for name in each.public
        if name not in used
    }
    left = {text for text in unused if text not in SCRIPTS}
    assert sorted(name for name in left if name.rpartition(":")[2] not in FOR_TESTS) == []
