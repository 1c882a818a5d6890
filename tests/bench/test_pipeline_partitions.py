"""What a partition costs the others, from the figures of one and of several."""

from __future__ import annotations

import pytest

from bench.pipeline.figures import Phase
from bench.pipeline.objects import definitions
from bench.pipeline.partitions import QUEUES, lines
from tidegate.kinds.names import PARTITION


def phase(scheduler: float, actuator: float) -> Phase:
    return Phase(
        name="x",
        jobs=1,
        wall_s=1.0,
        cpu_ms={"ingest": 1.0, "scheduler": scheduler, "actuator": actuator},
        each={},
        written={},
        fsyncs={},
        minstr={},
        rss_mib={},
        latencies={},
        loops_per_s=1.0,
    )


def test_what_is_passed_by_and_the_limit_are_calculated() -> None:
    items = list(lines([phase(4.0, 2.0), phase(5.5, 2.3)], [1, 4]))
    assert "| scheduler | 4 | 0.5 |" in items
    assert "| actuator | 2 | 0.1 |" in items
    assert "| 1 | 250 | scheduler |" in items
    assert "| 4 | 727 | scheduler |" in items  # 1000 / (4/4 + 0.5 * 3/4)
    assert "| 8 | 1000 | ingest |" in items


@pytest.mark.parametrize("counts", [[1], [2], []])
def test_one_number_of_partitions_and_rates_alone_tell_nothing_of_others(counts: list[int]) -> None:
    assert list(lines([phase(4.0, 2.0)], counts)) == []


@pytest.mark.parametrize("count", [1, 2, 4])
def test_queues_are_spread_evenly(count: int) -> None:
    queues = [obj for path, obj in definitions(QUEUES, count) if "/clusterqueues/" in path]
    numbers = [int(obj["metadata"].get("annotations", {}).get(PARTITION, 0)) for obj in queues]
    assert sorted(set(numbers)) == list(range(count))
    assert {numbers.count(number) for number in range(count)} == {QUEUES // count}
    cohorts = {(obj["spec"]["cohortName"], n) for obj, n in zip(queues, numbers, strict=True)}
    assert len(cohorts) == 4
