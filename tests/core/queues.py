"""ClusterQueues of processors that are open to all namespaces, and the LocalQueues to them."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.contracts import facts
from tidegate.model.podset import LabelSelector
from tidegate.model.quota import (
    WEIGHT_ONE,
    ClusterQueueSpec,
    FlavorQuotas,
    LocalQueueSpec,
    Preemption,
    Quota,
    ResourceGroup,
)


def of_cpu(
    quotas: Mapping[str, Quota],
    *,
    cohort: str = "",
    preemption: Preemption | None = None,
    weight: int = WEIGHT_ONE,
) -> ClusterQueueSpec:
    """Return a ClusterQueue of one group, with a quota of CPU for each flavor in order."""
    flavors = tuple(
        FlavorQuotas(flavor=flavor, quotas={"cpu": quota}) for flavor, quota in quotas.items()
    )
    return ClusterQueueSpec(
        cohort=cohort,
        groups=(ResourceGroup(resources=("cpu",), flavors=flavors),),
        namespace_selector=LabelSelector(),
        preemption=Preemption() if preemption is None else preemption,
        weight=weight,
    )


def defined(
    name: str, spec: ClusterQueueSpec, *, local: str, namespace: str
) -> tuple[facts.ClusterQueueDefined, facts.LocalQueueDefined]:
    """Return that a ClusterQueue is defined, and a LocalQueue that leads to it."""
    leads = LocalQueueSpec(cluster_queue=name)
    return (
        facts.ClusterQueueDefined(at_us=0, name=name, spec=spec),
        facts.LocalQueueDefined(at_us=0, name=local, namespace=namespace, spec=leads),
    )
