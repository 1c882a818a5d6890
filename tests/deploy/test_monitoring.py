"""Dashboard, alerts, runbook and table speak of metrics and labels that the services tell."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from actuator.metrics import Metrics as ActuatorMetrics
from dispatcher.metrics import Metrics as DispatcherMetrics
from ingest.metrics import Metrics as IngestMetrics
from scheduler.events_retention import RetentionGauges
from tests.deploy.rendering import DEPLOY
from tests.scheduler.metrics_story import World, queues
from tidegate.webhook.app import Webhook

DOCS = Path(__file__).parents[2] / "docs"
ALERTS = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())["spec"]["groups"]
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
RULES: list[dict[str, Any]] = [rule for group in ALERTS for rule in group["rules"]]
NAME = re.compile(r"\b(?:(?:multi)?kueue|tidegate)_[a-z_]+")
SELECTED = re.compile(r"\b((?:kueue|tidegate)_[a-z_]+)\{([^}]*)\}")
MADE = re.compile(
    r"self\.(\w+) = (?:self\.)?_?(?:counter|gauge|histogram|seconds)\(", re.IGNORECASE
)
MAKING = ("actuator", "dispatcher", "ingest", "scheduler", "tidegate/webhook")
LABEL = re.compile(r'([a-z_]+)(?:=~|!~|!=|=)"')
GROUPED = re.compile(r"by \(([a-z_, ]+)\)")


def exported() -> dict[str, set[str]]:
    """Return every series' name that a service may tell, with its labels."""
    world = World()
    world.happen(*queues())
    RetentionGauges(world.registry)
    registries = [world.registry, Webhook({}, _get_object).registry]
    for metrics in (IngestMetrics, ActuatorMetrics, DispatcherMetrics):
        registries.append(CollectorRegistry())
        metrics(registries[-1])
    names = dict[str, set[str]]()
    for registry in registries:
        for family in _families(registry):
            names |= {key: set(family._labelnames) for key in _series(family)}  # noqa: SLF001 - see _families
    return names


async def _get_object(*_path: str) -> None:
    """Return no object: nothing is reviewed."""


def _families(registry: CollectorRegistry) -> Iterator[Any]:
    """Yield metrics and families; only their private fields name labels that have no series."""
    for collector in registry._collector_to_names:  # noqa: SLF001 - as said
        if hasattr(collector, "_labelnames"):
            yield collector
        else:
            yield from collector.collect()


def _series(family: Any) -> Iterator[str]:  # noqa: ANN401 - a metric or a family
    name = getattr(family, "_name", None) or family.name
    match getattr(family, "_type", None) or family.type:
        case "counter":
            yield f"{name}_total"
        case "histogram":
            yield from (f"{name}{end}" for end in ("_bucket", "_sum", "_count"))
        case _:
            yield name


EXPORTED = exported()


def expressions() -> list[tuple[str, str]]:
    """Return every expression with where it stands."""
    rows = [(rule["alert"], rule["expr"]) for rule in RULES]
    for panel in DASHBOARD["panels"]:
        rows += [(panel["title"], target["expr"]) for target in panel.get("targets", ())]
    return rows


def asked() -> set[str]:
    """Return every series' name that dashboard and alerts ask for."""
    return {name for _, expression in expressions() for name in NAME.findall(expression)}


@pytest.mark.parametrize(("where", "expression"), expressions())
def test_an_expression_asks_for_exported_metrics(where: str, expression: str) -> None:
    names = set(NAME.findall(expression))
    assert names, where
    assert names <= set(EXPORTED)
    known = set().union(*(EXPORTED[name] for name in names)) | {"le"}
    for name, selector in SELECTED.findall(expression):
        assert set(LABEL.findall(selector)) <= EXPORTED[name]
    for labels in GROUPED.findall(expression):
        assert {label.strip() for label in labels.split(",")} <= known
    for opening, closing in ("()", "{}", "[]"):
        assert expression.count(opening) == expression.count(closing)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_it_is_and_the_runbook_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert rule["annotations"]["summary"].endswith(".")
    asked = set(re.findall(r"\$labels\.([a-z_]+)", rule["annotations"]["summary"]))
    grouped = {
        part.strip() for labels in GROUPED.findall(rule["expr"]) for part in labels.split(",")
    }
    plain = set().union(*(EXPORTED[name] for name in NAME.findall(rule["expr"])))
    assert asked <= (grouped or plain)
    file, _, anchor = rule["annotations"]["runbook"].partition("#")
    heads = re.findall(r"^## (.+)$", (DOCS.parent / file).read_text(), re.MULTILINE)
    assert anchor in {head.lower() for head in heads}


def test_the_runbook_has_the_alerts_and_no_others() -> None:
    heads = re.findall(r"^## (.+)$", (DOCS / "runbook.md").read_text(), re.MULTILINE)
    assert heads == [rule["alert"] for rule in RULES]


def test_the_page_lists_every_metric_and_none_that_is_not_exported() -> None:
    page = (DOCS / "metrics.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    listed = set[str]()
    for row in rows:
        listed |= set(NAME.findall(row[0] + row[1] if len(row) > 2 else row[0]))
    plain = {re.sub(r"_(bucket|sum|count)$", "", name) for name in EXPORTED}
    assert listed == plain


def test_the_page_names_the_labels_of_tidegates_own_metrics() -> None:
    page = (DOCS / "metrics.md").read_text()
    rows = re.findall(r"^\| `(tidegate_\w+)` \| (.*?) ?\| ", page, re.MULTILINE)
    documented = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    assert len(documented) > 30
    assert documented == {
        name: EXPORTED.get(name, EXPORTED.get(f"{name}_sum")) for name in documented
    }


@pytest.mark.parametrize("folder", MAKING)
def test_a_metric_that_is_made_is_also_counted(folder: str) -> None:
    sources = [path.read_text() for path in (DEPLOY.parent / folder).rglob("*.py")]
    used = Counter(name for text in sources for name in re.findall(r"\.(\w+)", text))
    made = {name for text in sources for name in MADE.findall(text)}
    assert [name for name in made if used[name] < 2] == []


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_a_panel_has_a_place_of_its_own(panel: dict[str, Any]) -> None:
    place = panel["gridPos"]
    assert place["x"] + place["w"] <= 24
    for other in DASHBOARD["panels"]:
        there = other["gridPos"]
        apart = (
            place["x"] + place["w"] <= there["x"]
            or there["x"] + there["w"] <= place["x"]
            or place["y"] + place["h"] <= there["y"]
            or there["y"] + there["h"] <= place["y"]
        )
        assert other is panel or apart
