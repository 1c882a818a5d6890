"""``managedJobsNamespaceSelector``: the namespaces whose jobs are managed."""

from __future__ import annotations

from tidegate.errors import SettingsError
from tidegate.model.podset import LabelSelector, selector_matches
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
    if selector_matches(selector, {NAME_LABEL: SYSTEM}):
        raise SettingsError(
            f"{_WHERE} selects {SYSTEM}: leave it out, for example with"
            f" {{key: {NAME_LABEL}, operator: NotIn, values: [{SYSTEM}]}}."
        )
    return selector
