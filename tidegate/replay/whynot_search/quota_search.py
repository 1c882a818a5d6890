"""Searches the smallest raise of a ClusterQueue's own quota that lets a workload start, by trials.

For each choice of flavors, the quota is first raised by more than could be needed; then each
resource is lowered as far as the workload still starts. The result is minimal: with one unit less
of any resource it does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product

import msgspec
from msgspec.structs import replace

from tidegate.contracts.facts import ClusterQueueDefined
from tidegate.core.quota.charging import PODS, pod_count, requests_per_pod
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import available
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import UNLIMITED
from tidegate.model.quota import ClusterQueueSpec, FlavorQuotas, ResourceGroup
from tidegate.replay.aggregates import nominal_quotas
from tidegate.replay.whynot_search.trial import Trial

CHOICES_MAX = 16
"""At most so many choices of flavors are searched, the preferred ones first."""
Raises = dict[FlavorResource, int]


class Raise(msgspec.Struct, frozen=True, kw_only=True):
    """One nominal quota that is to be raised, in base units."""

    flavor: str
    resource: str
    nominal: int  # the present quota
    needed: int  # the quota that is needed


class QuotaChange(msgspec.Struct, frozen=True, kw_only=True):
    """A raise of quota that lets a workload start; verified by deciding again with it."""

    cluster_queue: str
    raises: tuple[Raise, ...]
    preempts: tuple[str, ...] = ()  # workloads that it preempts to start


def search_quota(state: State, workload: Workload, trial: Trial) -> list[QuotaChange]:
    """Return the smallest raises that let a pending workload start, one for a choice of flavors.

    Those that raise the fewest resources are first, then those of preferred flavors. Empty: no
    raise of the ClusterQueue's own quota would suffice.
    """
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is None or cq.name in state.objects.removed_queues:
        return []
    requests = _requests_of(state, workload)
    quota_changes = dict[tuple[Raise, ...], QuotaChange]()
    for most in islice(_flavor_choices(state, cq, requests), CHOICES_MAX):
        search = _QuotaSearch(state, cq, trial)
        least = search.least_raises(most, requests)
        if least is not None:
            change = search.quota_change(least)
            quota_changes.setdefault(change.raises, change)
    return sorted(quota_changes.values(), key=lambda change: len(change.raises))


class _QuotaSearch:
    """Trials with the quota of one ClusterQueue."""

    def __init__(self, state: State, cq: ClusterQueueState, trial: Trial) -> None:
        self._draft, self._cluster_queue, self._trial = state, cq, trial
        self._defined = state.objects.cluster_queues[cq.name]

    def least_raises(self, most: Raises, requests: dict[str, int]) -> Raises | None:
        """Lower each raise in turn until none can be lowered; None: ``most`` does not suffice."""
        if not self._starts(most):
            return None
        raises = dict(most)
        while True:
            before = dict(raises)
            for fr in most:
                missing = requests.get(fr.resource, 0) - available(self._cluster_queue.node, fr)
                raises[fr] = _least_sufficient(self._starts_with(raises, fr), raises[fr], missing)
            if raises == before:
                return raises

    def quota_change(self, raises: Raises) -> QuotaChange:
        """Return raises as a change, with the preemptions that follow."""
        nominal = nominal_quotas(self._defined.spec.groups)
        return QuotaChange(
            cluster_queue=self._cluster_queue.name,
            raises=tuple(
                Raise(
                    flavor=fr.flavor,
                    resource=fr.resource,
                    nominal=nominal[fr],
                    needed=nominal[fr] + more,
                )
                for fr, more in raises.items()
                if more
            ),
            preempts=self._trial.outcome_after([self._changed_definition(raises)]).preempts,
        )

    def _starts_with(self, raises: Raises, fr: FlavorResource) -> Callable[[int], bool]:
        return lambda more: self._starts({**raises, fr: more})

    def _starts(self, raises: Raises) -> bool:
        return self._trial.outcome_after([self._changed_definition(raises)]).starts

    def _changed_definition(self, raises: Raises) -> ClusterQueueDefined:
        spec = with_raises(self._defined.spec, raises)
        return replace(self._defined, at_us=self._draft.now_us, spec=spec)


def with_raises(spec: ClusterQueueSpec, raises: Raises) -> ClusterQueueSpec:
    """Return a ClusterQueue's spec with more nominal quota."""
    return replace(spec, groups=tuple(_group_with_raises(group, raises) for group in spec.groups))


def _group_with_raises(group: ResourceGroup, raises: Raises) -> ResourceGroup:
    def more(flavor: FlavorQuotas) -> FlavorQuotas:
        quotas = {
            resource: replace(
                quota,
                nominal=min(
                    UNLIMITED,
                    quota.nominal + raises.get(FlavorResource(flavor.flavor, resource), 0),
                ),
            )
            for resource, quota in flavor.quotas.items()
        }
        return replace(flavor, quotas=quotas)

    return replace(group, flavors=tuple(map(more, group.flavors)))


def _least_sufficient(starts: Callable[[int], bool], upper: int, guess: int) -> int:
    """Return the least sufficient amount; ``upper`` is sufficient; tries ``guess`` first."""
    low, high = -1, upper  # low is not sufficient, high is
    if 0 <= guess < high:
        if starts(guess):
            high = guess
        else:
            low = guess
    if high == guess and high > 0 and not starts(high - 1):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if starts(middle):
            high = middle
        else:
            low = middle
    return high


def _requests_of(state: State, workload: Workload) -> dict[str, int]:
    total = {PODS: 0}
    for podset, each in zip(workload.podsets, requests_per_pod(state, workload), strict=True):
        pods = pod_count(workload, podset)
        total[PODS] += pods
        for resource, units in each.items():
            total[resource] = total.get(resource, 0) + units * pods
    return total


def _flavor_choices(
    state: State, cq: ClusterQueueState, requests: dict[str, int]
) -> Iterator[Raises]:
    """Yield for each choice of flavors an amount above all needs in the tree."""
    names = {cluster_queue.name for cluster_queue in cq.tree.cluster_queues}
    most = dict[str, int]()
    for workload in state.workloads.values():
        if workload.cluster_queue in names and workload.phase != "finished":
            for resource, units in _requests_of(state, workload).items():
                most[resource] = most.get(resource, 0) + units
    groups = [group for group in cq.spec.groups if requests.keys() & set(group.resources)]
    for chosen in product(*(group.flavors for group in groups)):
        yield {
            FlavorResource(flavor.flavor, resource): most[resource]
            for flavor in chosen
            for resource in flavor.quotas
            if requests.get(resource)
        }
