"""Places a workload's podsets in one topology: the entry point of this package.

Podsets are placed in order, each beside those before it; two of one group are placed together.

Source: behaviour.md 12.3; behaviour-notes.md, Topology B, H; conformance/tas-assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tidegate.core.topology.balanced import place_balanced
from tidegate.core.topology.choose import Part, choose_domains, pods_by_leaf
from tidegate.core.topology.fitting.counts import Numbers, Shape, Units, numbers
from tidegate.core.topology.fitting.matching import filter_of
from tidegate.core.topology.fitting.request import Failure, Request, request
from tidegate.core.topology.fitting.tree import PODS, Leaves, Tree, View, merged, truncated
from tidegate.model.podset import PodSet, Toleration
from tidegate.model.topology import TopologyAssignment, TopologyDomain, pack

SHAPES_MIN, DOMAINS_MAX = 128, 640_000  # cached: so many shapes at least, else domains
_GROUP_SIZE = 2  # a leader and its workers


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The feature gates of placement."""

    mixed: bool = True  # TASProfileMixed
    balanced: bool = False  # TASBalancedPlacement
    affinity: bool = False  # TASRespectNodeAffinityPreferred
    elastic: bool = False  # ElasticJobsViaWorkloadSlices, with and without WithTAS


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One podset to place."""

    podset: PodSet
    count: int
    each: dict[str, int]  # of one pod, in base units
    group: str = ""  # podsets of one group are placed together
    implied: bool = False  # it requests no level, and may be placed anywhere
    tolerations: tuple[Toleration, ...] = ()  # of its flavor
    short: bool = False  # some of its pods are reclaimable: its last slice may be incomplete
    previous: Leaves | None = None  # elastic jobs: the pods of the slice that is replaced
    gone: bool = False  # a leaf of ``previous`` is gone
    counted: bool = True  # the view counts ``previous`` as used


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """The placement of one podset."""

    leaves: tuple[tuple[int, int], ...]  # leaf numbers with their pods, at least 1


Outcome = Placed | Failure


class Placer(msgspec.Struct, kw_only=True, eq=False):
    """A tree with cached numbers of the shapes that were used last."""

    tree: Tree
    options: Options = Options()
    cached: dict[tuple[object, Shape], Numbers] = {}  # by view, and shape

    def view(self, *, empty: bool) -> View:
        """Return the free amounts, or those of nodes without placed pods."""
        return self.tree.empty if empty else self.tree.free

    def numbers(self, shape: Shape, *, of: object = False, view: View | None = None) -> Numbers:
        """Return a shape's current numbers: on the free amounts, or on empty nodes (``of``).

        ``of`` may identify another ``view``, the same one until ``drop_view``.
        """
        counts = self.cached.pop((of, shape), None)
        if counts is None:
            if len(self.cached) >= max(SHAPES_MIN, DOMAINS_MAX // (1 + len(self.tree.values))):
                del self.cached[next(iter(self.cached))]
            counts = numbers(self.tree, view or self.view(empty=of is True), shape)
        else:
            counts.follow()
        self.cached[of, shape] = counts
        return counts

    def drop_view(self, of: object) -> None:
        """Drop the cached numbers of a view."""
        self.cached = {key: counts for key, counts in self.cached.items() if key[0] != of}

    def to_assignment(self, placed: Placed) -> TopologyAssignment:
        """Return a placement as an assignment: domain by domain, in the order of pod ranks."""
        tree = self.tree
        levels = tree.levels[-1:] if tree.by_node else tree.levels
        domains = [
            TopologyDomain(values=tree.shown(leaf), count=pods)
            for leaf, pods in sorted(placed.leaves)
        ]
        return pack(levels, domains)


def place(placer: Placer, asks: Sequence[Ask], *, empty: bool = False) -> list[Outcome]:
    """Return each podset's placement, or why it has none; leaves the tree unchanged.

    Podsets after a failed one are not placed, and have the same failure.

    Args:
        placer: of the flavor's topology.
        asks: the podsets in order.
        empty: as if no pods had been placed.
    """
    by_member: dict[int, Outcome] = {}
    assumed: list[tuple[Leaves, dict[str, int]]] = []
    view = placer.view(empty=empty)
    for members in _group_indexes(asks):
        outcomes = _place_group(placer, [asks[at] for at in members], empty=empty)
        by_member.update(zip(members, outcomes, strict=True))
        failed = next((outcome for outcome in outcomes if isinstance(outcome, Failure)), None)
        if failed is not None:
            by_member.update({at: failed for at in range(len(asks)) if at not in by_member})
            break
        for at, placement in zip(members, outcomes, strict=True):
            assert isinstance(placement, Placed)
            new = added_leaves(placement, asks[at])
            assumed.append((new, pod_amounts(asks[at])))
            assume(view, *assumed[-1], sign=-1)
    for leaves, each in assumed:
        assume(view, leaves, each, sign=1)
    return [by_member[at] for at in range(len(asks))]


def pod_amounts(ask: Ask) -> dict[str, int]:
    """Return the amounts that one pod uses of a node."""
    return {**ask.each, PODS: 1}


def assume(view: View, leaves: Iterable[tuple[int, int]], each: dict[str, int], sign: int) -> None:
    """Subtract pods from the free amounts (-1), or add them back (1)."""
    for leaf, pods in leaves:
        view.add(leaf, each, sign * pods)


def added_leaves(placed: Placed, ask: Ask) -> Leaves:
    """Return a placement without the pods that the view already counts."""
    if ask.previous is None or not ask.counted:
        return list(placed.leaves)
    had = dict(ask.previous)
    generator = ((leaf, pods - had.get(leaf, 0)) for leaf, pods in placed.leaves)
    return [(leaf, pods) for leaf, pods in generator if pods > 0]


def place_request(  # noqa: PLR0913 - a request and its assumptions
    placer: Placer,
    wanted_request: Request,
    workers: Ask,
    leader: Ask | None,
    *,
    empty: bool,
    within: range | None = None,
) -> list[Part] | Failure:
    """Return the part of each leaf; ``Part.domain`` is the leaf's number."""
    tree = placer.tree
    if not wanted_request.pods and not wanted_request.leader:
        return []
    if not tree.present or not any(tree.present[at] for at in tree.level(wanted_request.start)):
        return Failure(kind="noDomainsAtLevel", level=tree.levels[wanted_request.start])
    shape = shape_of(placer, wanted_request, workers, leader)
    if within is None:
        counts = placer.numbers(shape, of=empty)
    else:
        counts = numbers(tree, placer.view(empty=empty), shape, within)
    parts = place_balanced(counts, wanted_request) if placer.options.balanced else None
    if parts is None:
        chosen = choose_domains(counts, wanted_request)
        if isinstance(chosen, Failure):
            return chosen
        parts = pods_by_leaf(counts, wanted_request, chosen)
    return [Part(part.domain - tree.leaf_first, part.amount, part.leaders) for part in parts]


def podset_request(
    placer: Placer, ask: Ask, pods: int, *, leader: bool = False
) -> Request | Failure:
    """Return the request of ``pods`` pods of a podset, or why it is invalid."""
    return request(
        placer.tree.levels,
        ask.podset.topology,
        pods,
        leader=leader,
        implied=ask.implied,
        mixed=placer.options.mixed,
        short=ask.short,
    )


def shape_of(placer: Placer, wanted_request: Request, workers: Ask, leader: Ask | None) -> Shape:
    """Return the shape of a request: what its numbers depend on."""
    return Shape(
        each=nonzero_requests(workers),
        leader=nonzero_requests(leader) if leader is not None and wanted_request.leader else None,
        layers=wanted_request.layers,
        filter=filter_of(workers.podset, workers.tolerations, preferred=placer.options.affinity),
    )


def nonzero_requests(ask: Ask) -> Units:
    """Return the requests of one pod, without zeros."""
    return tuple(sorted((name, amount) for name, amount in ask.each.items() if amount > 0))


def _group_indexes(asks: Sequence[Ask]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for at, ask in enumerate(asks):
        groups.setdefault(f"group {ask.group}" if ask.group else f"podset {at}", []).append(at)
    return list(groups.values())


def _place_group(placer: Placer, asks: list[Ask], *, empty: bool) -> list[Outcome]:
    if len(asks) > _GROUP_SIZE:
        return [Failure(kind="groupSize", of=len(asks))] * len(asks)
    workers, leader = worker_and_leader(asks)
    if leader is not None and asks[leader].count > 1:
        return [Failure(kind="leaderCount", of=1, fits=asks[leader].count)] * len(asks)
    other = None if leader is None or not asks[leader].count else asks[leader]
    placed_roles = _place_workers_and_leader(placer, asks[workers], other, empty=empty)
    if isinstance(placed_roles, Failure):
        return [placed_roles] * len(asks)
    outcomes: list[Outcome] = [Placed(leaves=())] * len(asks)
    outcomes[workers] = placed_roles[0]
    if leader is not None:
        outcomes[leader] = placed_roles[1]
    return outcomes


def worker_and_leader(asks: Sequence[Ask]) -> tuple[int, int | None]:
    """Return the indexes of the workers and of the leader, the smaller or second podset."""
    if len(asks) == 1:
        return 0, None
    return (1, 0) if asks[0].count < asks[1].count else (0, 1)


def _place_workers_and_leader(
    placer: Placer, workers: Ask, leader: Ask | None, *, empty: bool
) -> tuple[Placed, Placed] | Failure:
    had = _remaining_leaves(placer, workers, leader)
    had_leader = None if had is None or leader is None else leader.previous
    count = workers.count
    if had is not None:
        if count <= sum(pods for _, pods in had) and (leader is None or had_leader is not None):
            return Placed(leaves=tuple(truncated(had, count))), Placed(
                leaves=tuple(had_leader or ())
            )
        count = max(0, count - sum(pods for _, pods in had))
    wanted_request = podset_request(
        placer, workers, count, leader=leader is not None and had_leader is None
    )
    if isinstance(wanted_request, Failure):
        return wanted_request
    results = _place_beside_previous(placer, wanted_request, workers, leader, had, empty=empty)
    if isinstance(results, Failure):
        return results
    new = [(part.domain, part.amount) for part in results if part.amount]
    if wanted_request.pods > count:  # whole slices were requested, and the last one is incomplete
        new = truncated(merged([], new), count)
    seat = tuple((part.domain, 1) for part in results if part.leaders)
    return Placed(leaves=tuple(merged(had or [], new))), Placed(
        leaves=tuple(had_leader or ()) or seat
    )


def _place_beside_previous(  # noqa: PLR0913 - as ``place_request``
    placer: Placer,
    wanted_request: Request,
    workers: Ask,
    leader: Ask | None,
    had: Leaves | None,
    *,
    empty: bool,
) -> list[Part] | Failure:
    """Place new pods beside pods that stay; counts these if the view does not."""
    view = placer.view(empty=empty)
    stays = [
        (ask.previous, pod_amounts(ask))
        for ask in (workers, leader)
        if had is not None and ask is not None and ask.previous and not ask.counted
    ]
    for leaves, each in stays:
        assume(view, leaves, each, sign=-1)
    results = place_request(placer, wanted_request, workers, leader, empty=empty)
    for leaves, each in stays:
        assume(view, leaves, each, sign=1)
    return results


def _remaining_leaves(placer: Placer, workers: Ask, leader: Ask | None) -> Leaves | None:
    """Return the leaves of the replaced slice's workers; None: none of its pods can stay."""
    if not placer.options.elastic or workers.gone or (leader is not None and leader.gone):
        return None
    return workers.previous
