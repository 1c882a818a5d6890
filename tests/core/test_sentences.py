"""What a waiting workload is said to wait for is a sentence, also where no flavor was tried."""

from __future__ import annotations

from typing import get_args

import pytest

from tidegate.contracts.decisions import PendingReason
from tidegate.core.nomination.explain import pending_message


@pytest.mark.parametrize("details", ["", "flavor f has a topology"])
@pytest.mark.parametrize("reason", get_args(PendingReason))
def test_each_reason_is_a_sentence_without_an_assignment(
    reason: PendingReason, details: str
) -> None:
    text = pending_message(reason, None, details)
    assert text == " ".join(text.split())
    assert text[0].isupper()
    assert text.endswith(f": {details}." if details else ".")
    assert " ." not in text
    assert " :" not in text
