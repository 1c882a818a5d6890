"""What a run of recorded cases is reported as: a line a suite, then what failed and how."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

LINES_MAX = 12
"""Differences shown of a failing case, unless all are asked for."""

CaseT = TypeVar("CaseT")


@dataclass
class Outcome:
    """How the cases of one suite went."""

    name: str
    passed: list[str] = field(default_factory=list)
    failed: dict[str, list[str]] = field(default_factory=dict)  # id to differences
    unsupported: dict[str, list[str]] = field(default_factory=dict)  # why to ids
    bugs: dict[str, list[str]] = field(default_factory=dict)  # believed bug of Kueue to ids

    def lines(self) -> Iterator[str]:
        """Yield the suite's lines: passed and failed, then what is not built yet."""
        yield f"{self.name}: {len(self.passed)} passed, {len(self.failed)} failed"
        for why, ids in sorted(self.unsupported.items()):
            yield f"{self.name}: {len(ids)} unsupported ({why})"


@dataclass(frozen=True)
class Judge(Generic[CaseT]):
    """How one suite's cases are run."""

    run: Callable[[CaseT], Iterable[str]]  # yields differences; none: it passes
    needs: Callable[[CaseT], str | None]  # what a case asks for that is not built
    bug: Callable[[CaseT], str | None]  # what a case records that we believe is a bug of Kueue
    id: Callable[[CaseT], str]

    def judge(self, name: str, cases: Iterable[CaseT]) -> Outcome:
        """Run a suite."""
        outcome = Outcome(name)
        for case in cases:
            self._judge_one(outcome, case)
        return outcome

    def _judge_one(self, outcome: Outcome, case: CaseT) -> None:
        why, bug, text = self.needs(case), self.bug(case), self.id(case)
        if why is not None:
            outcome.unsupported.setdefault(why, []).append(text)
        elif differences := differences_of(self.run, case):
            if bug is None:
                outcome.failed[text] = differences
            else:
                outcome.bugs.setdefault(bug, []).append(text)
        else:
            outcome.passed.append(text)


def differences_of(run: Callable[[CaseT], Iterable[str]], case: CaseT) -> list[str]:
    """Run one case; what breaks is a difference like any other."""
    try:
        return list(run(case))
    except Exception:  # noqa: BLE001 - a case that breaks has failed, the others go on
        return traceback.format_exc(limit=-4).strip().splitlines()


def tell(outcomes: Iterable[Outcome], *, verbose: bool) -> Iterator[str]:
    """Yield the report that follows the suites' lines: failures, then believed bugs."""
    items = list(outcomes)
    if any(outcome.failed for outcome in items):
        yield ""
        yield "Failed:"
    for outcome in items:
        for case, differences in outcome.failed.items():
            yield f"  {case}"
            shown = differences if verbose else differences[:LINES_MAX]
            yield from (f"    {line}" for line in shown)
            if len(shown) < len(differences):
                yield f"    … {len(differences) - len(shown)} more (--verbose)"
    if any(outcome.bugs for outcome in items):
        yield ""
        yield "Believed bugs of Kueue, which Tidegate does not share:"
    for outcome in items:
        for why, ids in outcome.bugs.items():
            yield f"  {why}: {', '.join(ids)}"


def compare(name: str, expected: object, value: object) -> Iterator[str]:
    """Yield a line for each place where two values of plain data differ."""
    if isinstance(expected, dict) and isinstance(value, dict):
        for key in sorted({*expected, *value}, key=str):
            yield from compare(f"{name}.{key}", expected.get(key), value.get(key))
    elif expected != value:
        yield f"{name}: expected {expected!r}, found {value!r}"
