"""Which LocalQueues have metrics of their own: ``metrics.localQueueMetrics``, and its gate."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidegate.errors import SettingsError
from tidegate.model.podset import LabelSelector, Requirement
from tidegate.model.texts import is_label_key, is_label_value
from tidegate.service.config.configuration_file import ConfigurationFile, Selector
from tidegate.service.config.gates import is_open

SELECTED_BY_MAX = 16
"""Keys of labels that are kept of each LocalQueue; Kubernetes bounds a value at 63 characters."""
_WHERE = "metrics.localQueueMetrics.localQueueSelector"
_GATE = "LocalQueueMetrics"
_WITH_VALUES = ("In", "NotIn")


class LocalQueueMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Whether LocalQueues have series, and which of them."""

    enabled: bool = True
    selector: LabelSelector = LabelSelector()  # of their labels


def local_queue_metrics(file: ConfigurationFile) -> LocalQueueMetrics:
    """Read the section; as in Kueue, one that does not enable them disables them.

    Raises:
        SettingsError: the selector makes no sense, or names more keys than ``SELECTED_BY_MAX``.
    """
    section = file.metrics.local_queue_metrics
    written = None if section is None else section.local_queue_selector
    selected = LabelSelector() if written is None else label_selector(written, _WHERE)
    if len(selected.keys) > SELECTED_BY_MAX:
        raise SettingsError(f"{_WHERE}: at most {SELECTED_BY_MAX} keys of labels.")
    enabled = (section is None or section.enable) and is_open(file.feature_gates, _GATE)
    return LocalQueueMetrics(enabled=True, selector=selected) if enabled else NONE


NONE = LocalQueueMetrics(enabled=False)
"""No LocalQueue has series, and none of their labels is kept."""


def label_selector(written: Selector, where: str) -> LabelSelector:
    """Return a label selector of the Configuration.

    Raises:
        SettingsError: an operator has values and needs none, or has none and needs some; or a
            key or a value is none that a label can have.

    Source: ValidateLabelSelector of k8s.io/apimachinery, which Kueue's Configuration is
    checked with.
    """
    for expression in written.match_expressions:
        if bool(expression.values) != (expression.operator in _WITH_VALUES):
            needs = "needs values" if expression.operator in _WITH_VALUES else "has no values"
            raise SettingsError(f"{where}: {expression.operator} of {expression.key} {needs}.")
        _check_labels((expression.key,), expression.values, f"{where}.matchExpressions")
    _check_labels(written.match_labels, written.match_labels.values(), f"{where}.matchLabels")
    return LabelSelector(
        labels=written.match_labels,
        expressions=tuple(
            Requirement(key=expression.key, operator=expression.operator, values=expression.values)
            for expression in written.match_expressions
        ),
    )


def _check_labels(keys: Iterable[str], values: Iterable[str], where: str) -> None:
    for key in keys:
        if not is_label_key(key):
            raise SettingsError(
                f"{where}: {key[:80]!r} is no key of a label: write one such as team or"
                " example.com/team."
            )
    for value in values:
        if not is_label_value(value):
            raise SettingsError(
                f"{where}: {value[:80]!r} is no value of a label: write at most 63 letters,"
                " digits, -, _ and ., with a letter or digit at both ends."
            )
