"""The usage of ClusterQueues' quota by a folded state: the rows of the report ``quota_now``.

The report joins all quota with all that is held, half a second of CPU for 1,000 queues, and tells
of now alone. What is lent is computed by shares of the whole tree, as there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from store.reading.database import Database
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import root_of
from tidegate.core.state.cluster_queues import ClusterQueueState, Tree
from tidegate.core.state.state import State
from tidegate.model.ids import FlavorResource
from tidegate.model.quota import Quota, quotas_of

Row: TypeAlias = dict[str, Any]
_SETTERS = (
    "SELECT owner, flavor, resource, author FROM report_quota WHERE partition = :partition"
    " AND kind = 'ClusterQueue' AND from_seq <= :until AND (to_seq IS NULL OR to_seq > :until)"
)
_NONE = Quota(nominal=0)


class _Line(NamedTuple):
    """A ClusterQueue's quota of a flavor and resource, in base units."""

    fr: FlavorResource
    quota: Quota
    used: int
    workloads: int
    users: Counter[str]

    @property
    def borrowed(self) -> int:
        return max(0, self.used - self.quota.nominal)

    @property
    def lendable(self) -> int:
        nominal, limit = self.quota.nominal, self.quota.lending_limit
        return min(max(0, nominal - self.used), nominal if limit is None else limit)


def usage_rows(state: State, queue: str = "") -> list[Row]:
    """Return the rows of ``quota_now``, each with the users of its quota, the largest first.

    ``queue``: of this ClusterQueue alone.
    """
    trees, reserved = forest(state).trees, _cohort_quotas(state)
    if queue:
        only = forest(state).cluster_queues.get(queue)
        trees = [] if only is None else [only.tree]
    rows = (
        row
        for tree in trees
        for row in _rows_of_tree(state, tree, reserved)
        if queue in {"", row["cluster_queue"]}
    )
    return sorted(rows, key=lambda row: (row["cluster_queue"], row["flavor"], row["resource"]))


def quota_setters(
    database: Database, until: int, partition: int = 0
) -> dict[tuple[str, str, str], str]:
    """Return the user who set each ClusterQueue's quota in force at an event."""
    rows = database.select(_SETTERS, until=until, partition=partition)
    return {(owner, flavor, resource): author for owner, flavor, resource, author in rows}


def _cohort_quotas(state: State) -> dict[str, Counter[FlavorResource]]:
    """Return what the Cohort objects of each tree add to its quota, by the root's name."""
    reserved = defaultdict[str, Counter[FlavorResource]](Counter)
    for name, defined in state.objects.cohorts.items():
        sums = reserved[root_of(forest(state).cohorts[name]).name]
        for fr, quota in quotas_of(defined.spec.groups):
            sums[fr] += quota.nominal
    return reserved


def _rows_of_tree(
    state: State, tree: Tree, reserved: Mapping[str, Counter[FlavorResource]]
) -> Iterator[Row]:
    definitions, root = state.objects.cluster_queues, tree.root
    lines = {queue.name: list(_lines_of_queue(state, queue)) for queue in tree.cluster_queues}
    standing = [line for name, each in lines.items() if name in definitions for line in each]
    own = reserved.get(root.name, Counter[FlavorResource]())
    pools = _lent_fractions(standing, own) if root.is_cohort else {}
    for name, each in lines.items():
        cohort = definitions[name].spec.cohort if name in definitions else ""
        for line in each:
            lent = pools.get(line.fr, 0.0) * line.lendable if name in definitions else 0.0
            yield _row(name, cohort, line, min(lent, line.lendable))


def _lines_of_queue(state: State, queue: ClusterQueueState) -> Iterator[_Line]:
    defined = state.objects.cluster_queues.get(queue.name)
    quotas = {} if defined is None else dict(quotas_of(defined.spec.groups))
    used, workloads = Counter[FlavorResource](), Counter[FlavorResource]()
    users = defaultdict[FlavorResource, Counter[str]](Counter)
    for workload in queue.holding.values():
        for fr, units in workload.charges:
            used[fr] += units
            workloads[fr] += 1
            if workload.author:
                users[fr][workload.author] += units
    for fr in quotas.keys() | used.keys():
        yield _Line(fr, quotas.get(fr, _NONE), used[fr], workloads[fr], users[fr])


def _lent_fractions(
    lines: Iterable[_Line], reserved: Counter[FlavorResource]
) -> dict[FlavorResource, float]:
    """Return what part of what its queues may lend a tree has lent: Cohorts' own is lent first."""
    borrowed, lendable = Counter[FlavorResource](), Counter[FlavorResource]()
    for line in lines:
        borrowed[line.fr] += line.borrowed
        lendable[line.fr] += line.lendable
    return {
        fr: max(0, borrowed[fr] - reserved[fr]) / units for fr, units in lendable.items() if units
    }


def _row(name: str, cohort: str, line: _Line, lent: float) -> Row:
    def units(amount: float | None) -> float | None:
        cpu = line.fr.resource == "cpu"
        return None if amount is None else amount / 1_000 if cpu else float(amount)

    ranked = sorted(line.users.items(), key=lambda pair: (-pair[1], pair[0]))
    return {
        "cluster_queue": name,
        "cohort": cohort,
        "flavor": line.fr.flavor,
        "resource": line.fr.resource,
        "nominal": units(line.quota.nominal),
        "borrowing_limit": units(line.quota.borrowing_limit),
        "lending_limit": units(line.quota.lending_limit),
        "used": units(line.used),
        "borrowed": units(line.borrowed),
        "lent": units(lent),
        "workloads": line.workloads,
        "users": [author for author, _ in ranked],
    }
