"""What the default mode answers to Kueue's recorded decisions is what is written down."""

from __future__ import annotations

import pytest

from tests.conformance.pins import DOCUMENT, PINNED, Suite, answered, document

RUN = "run python -m tests.conformance.pins, and read the diff"


@pytest.fixture(scope="module")
def suites() -> list[Suite]:
    """How every suite goes in the default mode."""
    return list(answered())


def test_the_default_mode_answers_as_pinned(suites: list[Suite]) -> None:
    assert "".join(suite.text for suite in suites) == PINNED.read_text(), RUN


def test_the_document_names_the_rule_of_every_difference(suites: list[Suite]) -> None:
    text = DOCUMENT.read_text()
    assert document(text, suites) == text, RUN
    rules = {rule for suite in suites for answer in suite.answers for rule in answer.rules}
    assert [rule for rule in rules if f"| {rule} |" not in text] == []
