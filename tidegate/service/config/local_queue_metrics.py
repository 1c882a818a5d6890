"""Which LocalQueues have metrics of their own: ``metrics.localQueueMetrics``, and its gate."""

from __future__ import annotations

import msgspec

from tidegate.errors import SettingsError
from tidegate.model.gates import GATES
from tidegate.model.podset import LabelSelector, Requirement
from tidegate.service.config.configuration_file import ConfigurationFile, Selector

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
    enabled = (section is None or section.enable) and file.feature_gates.get(_GATE, GATES[_GATE])
    return LocalQueueMetrics(enabled=True, selector=selected) if enabled else NONE


NONE = LocalQueueMetrics(enabled=False)
"""No LocalQueue has series, and none of their labels is kept."""


def label_selector(written: Selector, where: str) -> LabelSelector:
    """Return a label selector of the Configuration.

    Raises:
        SettingsError: an operator has values and needs none, or has none and needs some.
    """
    for expression in written.match_expressions:
        if bool(expression.values) != (expression.operator in _WITH_VALUES):
            needs = "needs values" if expression.operator in _WITH_VALUES else "has no values"
            raise SettingsError(f"{where}: {expression.operator} of {expression.key} {needs}.")
    return LabelSelector(
        labels=written.match_labels,
        expressions=tuple(
            Requirement(key=expression.key, operator=expression.operator, values=expression.values)
            for expression in written.match_expressions
        ),
    )
