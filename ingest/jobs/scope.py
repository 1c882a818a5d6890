"""Which jobs Tidegate manages: by their queue name, and by their namespace's labels.

Source: behaviour.md 15.1.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.core.flavors.eligibility import selects
from tidegate.errors import NotSupportedError
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import QUEUE_NAME
from tidegate.kinds.policies.forms import NAMESPACES_LEFT_ALONE
from tidegate.model.podset import LabelSelector

NAME_LABEL = "kubernetes.io/metadata.name"


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the configuration that ingest reads."""

    without_queue: bool = False  # manageJobsWithoutQueueName
    elastic: bool = False  # jobs may be elastic: the actuator may look at their pods
    namespaces: LabelSelector | None = None  # managedJobsNamespaceSelector; None: Kueue's default

    def asks(self, meta: ObjectMeta) -> bool:
        """Return whether a job has a queue name, in any namespace."""
        return self.without_queue or bool(meta.labels.get(QUEUE_NAME))

    def covers(self, namespace: str, labels: Mapping[str, str] | None) -> bool:
        """Return whether a namespace's jobs are managed; ``labels``: None until observed."""
        if self.namespaces is None:
            return namespace not in NAMESPACES_LEFT_ALONE
        return labels is not None and selects(self.namespaces, {NAME_LABEL: namespace, **labels})

    def check_elastic(self, job: JobObserved, meta: ObjectMeta) -> None:
        """Demand that a job is elastic only where it may be; one that names a Workload was sent.

        Any user may write the label of a job that a manager sent; a job with a forged one waits
        for a Workload that was sent as well (``Prebuilt.joined``).

        Raises:
            NotSupportedError: elastic jobs are not enabled, or it has a Workload of its owner's.
        """
        if job.elastic and not self.elastic:
            raise NotSupportedError(
                "Elastic jobs are not enabled: open the feature gate ElasticJobsViaWorkloadSlices "
                f"in the configuration, or remove the annotation {names.ELASTIC_JOB}."
            )
        if job.elastic and job.prebuilt and names.MANAGER not in meta.labels:
            raise NotSupportedError(
                f"An elastic job has no {names.PREBUILT_WORKLOAD}: its Workloads are made from it."
            )
