"""The answers of the default mode to Kueue's recorded decisions, pinned, with the rule of each.

``python -m tests.conformance.pins`` writes ``default_mode.txt`` and a table in docs/differences.md
anew: read the diff.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tests.conformance.cases import DATA, Case, suites
from tests.conformance.report import differences_of
from tests.conformance.suites.registry import judge
from tests.differential.causes import causes
from tests.differential.reasons import INTENT
from tests.differential.without import without

Run: TypeAlias = Callable[[Case], Iterable[str]]
PINNED = Path(__file__).parent / "default_mode.txt"
DOCUMENT = Path(__file__).parents[2] / "docs" / "differences.md"
ASKED_ANEW, REASON_AT_REST = "asked anew", "reason at rest"
"""Rules that only recorded decisions of single cycles show; see docs/differences.md."""
_TOLD = ("conditions ", "events: ", "left and inadmissible.")
_UNREADY = "UnsatisfiedAdmissionChecks"
_BEGIN, _END = "<!-- written by python -m tests.conformance.pins -->", "<!-- end of it -->"


class Answer(NamedTuple):
    """How the default mode answers a case otherwise than Kueue."""

    case: str
    rules: tuple[str, ...]
    differences: tuple[str, ...]


class Suite(NamedTuple):
    """How a suite goes in the default mode."""

    name: str
    passed: int
    answers: tuple[Answer, ...]  # those that differ

    @property
    def text(self) -> str:
        """Return what is pinned of it."""
        total = self.passed + len(self.answers)
        lines = [f"{self.name}: {self.passed} of {total} as Kueue"]
        for answer in self.answers:
            lines.append(f"{answer.case}: {', '.join(answer.rules)}")
            lines += [f"  {line}" for line in answer.differences]
        return "".join(f"{line}\n" for line in lines)


def answered() -> Iterator[Suite]:
    """Yield every suite that is judged."""
    for name, cases in suites(DATA):
        judged = judge(name, "tidegate")
        outcome = judged.judge(name, cases)
        if not outcome.passed and not outcome.failed:
            continue
        by_id = {case.id: case for case in cases}
        answers = (_answer(judged.run, by_id[text]) for text in outcome.failed)
        yield Suite(name, len(outcome.passed), tuple(answers))


def document(before: str, actual_suites: Iterable[Suite]) -> str:
    """Return the page of differences with its table of suites made anew."""
    head, rest = before.split(_BEGIN)
    tail = rest.split(_END)[1]
    rows = "\n".join(_row(suite) for suite in actual_suites if suite.answers)
    table = f"| suite | as Kueue | case: rule |\n| --- | --: | --- |\n{rows}\n"
    return f"{head}{_BEGIN}\n\n{table}\n{_END}{tail}"


def _answer(run: Run, case: Case) -> Answer:
    def play(left_out: tuple[str, ...]) -> tuple[str, ...]:
        with without(*left_out):
            return tuple(differences_of(run, case))

    usual = play(())
    rules = causes(play, usual, ())
    return Answer(case.id, rules or (_remaining(usual),), usual)


def _remaining(differences: Collection[str]) -> str:
    """Return the rule of what no rule changes that can be left out."""
    if any(_UNREADY in line for line in differences):
        return ASKED_ANEW
    return REASON_AT_REST if all(line.startswith(_TOLD) for line in differences) else INTENT


def _row(suite: Suite) -> str:
    by_rule = dict[str, list[str]]()
    for answer in suite.answers:
        number = answer.case.rpartition("/")[2]
        by_rule.setdefault(", ".join(answer.rules), []).append(number)
    text = "; ".join(f"{', '.join(ids)}: {rule}" for rule, ids in sorted(by_rule.items()))
    return f"| {suite.name} | {suite.passed}/{suite.passed + len(suite.answers)} | {text} |"


if __name__ == "__main__":
    SUITES = list(answered())
    PINNED.write_text("".join(suite.text for suite in SUITES))
    DOCUMENT.write_text(document(DOCUMENT.read_text(), SUITES))
