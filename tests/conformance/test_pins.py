"""What the default mode answers to Kueue's recorded decisions is what is written down."""

from __future__ import annotations

import pytest

from tests.conformance.pins import DOCUMENT, PINNED, Suite, answered, document

RUN = "run python -m tests.conformance.pins, and read the diff"


@pytest.fixture(scope="module")
def found() -> list[Suite]:
    """How every suite goes in the default mode."""
    return list(answered())


def test_the_default_mode_answers_as_pinned(found: list[Suite]) -> None:
    assert "".join(suite.text for suite in found) == PINNED.read_text(), RUN


def test_the_document_names_the_rule_of_every_difference(found: list[Suite]) -> None:
    told = DOCUMENT.read_text()
    assert document(told, found) == told, RUN
    rules = {rule for suite in found for one in suite.answers for rule in one.rules}
    assert [rule for rule in rules if f"| {rule} |" not in told] == []
