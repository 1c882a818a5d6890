"""``managedJobsNamespaceSelector``: the namespaces whose jobs are managed."""

from __future__ import annotations

from tidegate.errors import SettingsError
from tidegate.model.podset import LabelSelector, Requirement
from tidegate.service.config.configuration_file import ConfigurationFile
from tidegate.service.config.local_queue_metrics import label_selector

_WHERE = "managedJobsNamespaceSelector"
NAME_LABEL, SYSTEM = "kubernetes.io/metadata.name", "kube-system"


def managed_namespaces(file: ConfigurationFile) -> LabelSelector | None:
    """Return the selector of managed namespaces; None: it is not given.

    Raises:
        SettingsError: it makes no sense, or selects the namespace of the cluster's own pods.
    """
    if file.managed_jobs_namespace_selector is None:
        return None
    selector = label_selector(file.managed_jobs_namespace_selector, _WHERE)
    system = {NAME_LABEL: SYSTEM}
    if selector.labels.items() <= system.items() and all(
        _is_met(expression, system) for expression in selector.expressions
    ):
        raise SettingsError(
            f"{_WHERE} selects {SYSTEM}: leave it out, for example with"
            f" {{key: {NAME_LABEL}, operator: NotIn, values: [{SYSTEM}]}}."
        )
    return selector


def _is_met(expression: Requirement, labels: dict[str, str]) -> bool:
    is_in = labels.get(expression.key) in expression.values
    match expression.operator:
        case "In":
            return is_in
        case "NotIn":
            return not is_in
        case "Exists":
            return expression.key in labels
        case _:
            return expression.key not in labels
