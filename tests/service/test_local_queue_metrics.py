"""Which LocalQueues have metrics is read as Kueue reads it."""

from __future__ import annotations

import pytest

from tidegate.errors import SettingsError
from tidegate.model.podset import LabelSelector, Requirement
from tidegate.service.config.configuration import parse_configuration
from tidegate.service.config.local_queue_metrics import NONE, LocalQueueMetrics

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def chosen(text: str) -> LocalQueueMetrics:
    return parse_configuration(HEAD + text).local_queue_metrics


def selecting(selector: str) -> str:
    return f"metrics: {{localQueueMetrics: {{enable: true, localQueueSelector: {selector}}}}}"


@pytest.mark.parametrize(
    "text",
    ["", "metrics: {localQueueMetrics: null}", "metrics: {localQueueMetrics: {enable: true}}"],
)
def test_all_local_queues_have_metrics_by_default(text: str) -> None:
    assert chosen(text) == LocalQueueMetrics()
    assert chosen(text).selector.keys == ()


@pytest.mark.parametrize(
    "text",
    [
        "metrics: {localQueueMetrics: {enable: false}}",
        "metrics: {localQueueMetrics: {localQueueSelector: {matchLabels: {a: b}}}}",
        "featureGates: {LocalQueueMetrics: false}\n" + selecting("{matchLabels: {a: b}}"),
    ],
)
def test_none_has_if_they_are_not_enabled(text: str) -> None:
    assert chosen(text) == NONE
    assert NONE.selector.keys == ()


def test_a_selector_is_read_with_the_keys_that_it_needs() -> None:
    text = "{matchLabels: {team: a}, matchExpressions: [{key: b, operator: In, values: [x]}, "
    selector = chosen(selecting(text + "{key: a, operator: Exists}]}")).selector
    assert selector == LabelSelector(
        labels={"team": "a"},
        expressions=(
            Requirement(key="b", operator="In", values=("x",)),
            Requirement(key="a", operator="Exists"),
        ),
    )
    assert selector.keys == ("a", "b", "team")


MANY = ", ".join(f"k{number}: v" for number in range(17))


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("{matchExpressions: [{key: a, operator: In}]}", "In of a needs values"),
        ("{matchExpressions: [{key: a, operator: Exists, values: [x]}]}", "Exists of a has no"),
        ("{matchExpressions: [{key: a, operator: Gt, values: ['1']}]}", "operator"),
        ("{labels: {a: b}}", "unknown field `labels`"),
        (f"{{matchLabels: {{{MANY}}}}}", "at most 16 keys"),
        ("{matchLabels: {a b: c}}", "localQueueSelector.matchLabels: 'a b' is no key"),
        ("{matchLabels: {a: -c}}", "'-c' is no value of a label: write at most 63"),
        ("{matchExpressions: [{key: a/, operator: Exists}]}", "matchExpressions: 'a/' is no key"),
        ("{matchExpressions: [{key: a, operator: In, values: [x y]}]}", "'x y' is no value"),
    ],
)
def test_a_selector_that_makes_no_sense_is_refused(selector: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        chosen(selecting(selector))


def test_labels_that_go_into_series_are_refused() -> None:
    with pytest.raises(SettingsError, match="customLabels is not supported"):
        chosen("metrics: {customLabels: [{name: a}]}")
