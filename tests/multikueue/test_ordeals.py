"""Seeds of ``ordeal``: whatever strikes, no job is on two workers, and all ends well."""

from __future__ import annotations

import pytest

from tests.multikueue.ordeals import played


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_whatever_strikes_no_job_is_on_two_workers_and_all_ends_well(seed: int) -> None:
    played(seed)
