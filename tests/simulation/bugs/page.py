"""The table of bugs in docs/simulation.md."""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulation.bugs.patches import ROOT, Bug

PAGE = ROOT / "docs/simulation.md"
HEAD = "| bug | where | found by |"


def table(bugs: Iterable[Bug]) -> list[str]:
    """Return the table's lines; a bug without a seed or test has none."""
    known = [bug for bug in bugs if bug.seed is not None or bug.test]
    rows = [f"| {bug.about} | `{_where(bug)}` | {_finder(bug)} |" for bug in known]
    return [HEAD, "| --- | --- | --- |", *rows]


def write_page(bugs: Iterable[Bug]) -> None:
    """Put the table in the place of the one that the page has."""
    lines = PAGE.read_text().splitlines()
    first = lines.index(HEAD)
    last = next((at for at in range(first, len(lines)) if not lines[at]), len(lines))
    PAGE.write_text("\n".join([*lines[:first], *table(bugs), *lines[last:]]) + "\n")


def _finder(bug: Bug) -> str:
    return f"`{bug.test}`" if bug.test else f"seed {bug.seed}: {bug.rule}"


def _where(bug: Bug) -> str:
    named = (line for line in bug.file.read_text().splitlines() if line.startswith("+++ b/"))
    return next(named).removeprefix("+++ b/")
