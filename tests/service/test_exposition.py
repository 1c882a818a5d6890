"""Pages of metrics: what the library writes, and others run meanwhile."""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tidegate.service.health import metrics_page


def registry() -> CollectorRegistry:
    result = CollectorRegistry()
    jobs = Counter("jobs", "Jobs,\nand \\ more.", ("queue", "class"), registry=result)
    jobs.labels('a"b', "x\\y\nz").inc(1_234_567.5)
    jobs.labels("\u00e4", "").inc()
    Counter("none", "None yet.", ("queue",), registry=result)
    gauge = Gauge("level", "Levels.", ("of",), registry=result)
    for value in (float("inf"), float("-inf"), float("nan"), 1e21, -0.5, 0):
        gauge.labels(str(value)).set(value)
    Gauge("plain", "No labels.", registry=result).set(3)
    seconds = Histogram("seconds", "Waits.", ("queue",), buckets=(0.5, 4e7), registry=result)
    seconds.labels("a").observe(1)
    return result


async def test_a_page_is_what_the_library_writes() -> None:
    metrics = registry()
    assert await metrics_page(metrics) == generate_latest(metrics)


async def test_others_run_while_a_page_is_made() -> None:
    ran = list[bool]()
    asyncio.get_running_loop().call_soon(ran.append, True)  # noqa: FBT003 - a value
    page = await metrics_page(registry())
    assert (ran, bool(page)) == ([True], True)
