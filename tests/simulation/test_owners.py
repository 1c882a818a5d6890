"""What owners of a world ask for can be had: else a world that does not rest says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.actors.growers import ELASTIC
from tests.simulation.actors.owners import longest_run_s


def made(annotations: dict[str, str]) -> dict[str, Any]:
    template = {"metadata": {"annotations": {"simulate/seconds": "16.5"}}}
    spec = {"parallelism": 1, "completions": 6, "template": template}
    return {"metadata": {"annotations": annotations}, "spec": spec}


@pytest.mark.parametrize(("annotations", "seconds"), [({}, 31), ({ELASTIC: "true"}, 114)])
def test_an_elastic_job_has_time_for_its_pods_one_after_the_other(
    annotations: dict[str, str], seconds: int
) -> None:
    assert longest_run_s(made(annotations)) == seconds
