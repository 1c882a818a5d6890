"""Prometheus' own engine reads the dashboard's queries and the alerts over what services tell.

``promtool test rules`` runs each query over series that are scraped from the services' registries,
minute by minute while a story is told. A query that it cannot read, or that finds nothing, fails.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from actuator.metrics import Metrics as ActuatorMetrics
from ingest.metrics import Metrics as IngestMetrics
from scheduler.events_retention import RetentionGauges
from tests.deploy.rendering import DEPLOY
from tests.scheduler.metrics_story import World, about, configured, queues, reserved, submitted
from tidegate.contracts import decisions

PROMTOOL = shutil.which("promtool")
MINUTES = 20
pytestmark = pytest.mark.skipif(
    PROMTOOL is None,
    reason="promtool is missing to run the rules: install it (Debian: apt install prometheus)",
)


def scrapes() -> list[str]:
    """Return what /metrics said each minute, while workloads came, waited and were admitted."""
    world, ingest, actuator = World(), CollectorRegistry(), CollectorRegistry()
    RetentionGauges(world.registry)
    IngestMetrics(ingest)
    ActuatorMetrics(actuator)
    world.happen(configured(fair=True), *queues())
    pages = list[str]()
    for minute in range(MINUTES):
        _live(world, minute)
        for registry in (world.registry, ingest, actuator):
            _move(registry)
        pages.append(
            "".join(generate_latest(r).decode() for r in (world.registry, ingest, actuator))
        )
    return pages


def _live(world: World, minute: int) -> None:
    """Let one more be admitted, the one before be evicted, and another wait."""
    now, key = 60.0 * minute, f"left/job-{minute}"
    world.happen(submitted(key, now), submitted(f"right/job-{minute}", now))
    world.happen(
        reserved(key, now + 1), about(decisions.WorkloadAdmitted, key, now + 1, queue="main")
    )
    world.happen(
        about(decisions.WorkloadPreempted, key, now + 9, by="left/other", reason="InClusterQueue"),
        about(decisions.WorkloadEvicted, key, now + 9, reason="Preempted"),
    )
    if minute < MINUTES - 1:
        world.happen(about(decisions.QuotaReleased, key, now + 10))


def _move(registry: CollectorRegistry) -> None:
    """Count something in every metric that no story reaches, with any labels."""
    for metric in {*registry._collector_to_names}:  # noqa: SLF001 - no other way leads to them
        if not isinstance(metric, Counter | Gauge | Histogram):
            continue
        names = metric._labelnames  # noqa: SLF001 - as said
        child = metric.labels(*("x" for _ in names)) if names else metric
        match child:
            case Counter():
                child.inc()
            case Histogram():
                child.observe(0.1)
            case Gauge():
                child.inc(0)


def series() -> list[dict[str, str]]:
    """Return the series of all scrapes as promtool takes them."""
    values = defaultdict[str, list[str]](lambda: ["_"] * MINUTES)
    for minute, page in enumerate(scrapes()):
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                labels = ",".join(
                    f"{name}={json.dumps(text)}" for name, text in sample.labels.items()
                )
                values[f"{sample.name}{{{labels}}}"][minute] = f"{sample.value:g}"
    return [{"series": name, "values": " ".join(names)} for name, names in sorted(values.items())]


def queries() -> list[tuple[str, str]]:
    """Return every query of the dashboard, with what its variables are when all is chosen."""
    dashboard: dict[str, Any] = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
    return [
        (panel["title"], target["expr"].replace("$cluster_queue", ".*").replace("$resource", ".*"))
        for panel in dashboard["panels"]
        for target in panel.get("targets", ())
    ]


def _promtool(*words: str) -> str:
    assert PROMTOOL is not None
    ran = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def test_every_query_of_the_dashboard_finds_something(tmp_path: Path) -> None:
    documents = [
        {
            "expr": f"count({query}) > bool 0",
            "eval_time": f"{MINUTES - 1}m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for _, query in queries()
    ]
    assert len(documents) > 25
    tests = [{"interval": "1m", "input_series": series(), "promql_expr_test": documents}]
    path = tmp_path / "dashboard.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [], "tests": tests}))
    assert not _promtool("test", "rules", str(path))


def test_a_query_that_finds_nothing_is_noticed(tmp_path: Path) -> None:
    nothing = {
        "expr": "count(kueue_no_such_series) > bool 0",
        "eval_time": "1m",
        "exp_samples": [{"labels": "{}", "value": 1}],
    }
    tests = [{"interval": "1m", "input_series": series(), "promql_expr_test": [nothing]}]
    path = tmp_path / "nothing.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [], "tests": tests}))
    assert "kueue_no_such_series" in _promtool("test", "rules", str(path))


def test_the_alerts_are_rules_that_prometheus_reads(tmp_path: Path) -> None:
    spec = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())["spec"]
    path = tmp_path / "alerts.yaml"
    path.write_text(yaml.safe_dump(spec))
    assert not _promtool("check", "rules", str(path))
