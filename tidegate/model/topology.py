"""Nodes, and the placement of a podset's pods, in the compact form of Kueue's v1beta2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

import msgspec
from msgspec.structs import replace

HOSTNAME = "kubernetes.io/hostname"
"""The level of single nodes; if it is the lowest, assignments contain only this level."""


class Taint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A taint of a node, or of a flavor's nodes."""

    key: str
    value: str = ""
    effect: str  # NoSchedule, PreferNoSchedule or NoExecute


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a Node that placement depends on: none that a kubelet's heartbeat changes."""

    labels: dict[str, str] = {}
    allocatable: dict[str, int] = {}  # resource to base units, including "pods"
    taints: tuple[Taint, ...] = ()
    ready: bool | None = None  # its condition Ready is True; None: it has no such condition
    unschedulable: bool = False


class TopologyDomain(msgspec.Struct, frozen=True, kw_only=True):
    """Some pods of a podset in one domain of a topology."""

    values: tuple[str, ...]  # one per level of the assignment, from the top
    count: int


class LevelValues(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One level's values in the domains of a slice: ``prefix + root + suffix``, or universal."""

    universal: str | None = None  # the value of all domains; None: each has its own
    prefix: str = ""
    suffix: str = ""
    roots: tuple[str, ...] = ()


class TopologySlice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Some adjacent domains of an assignment."""

    domains: int
    values: tuple[LevelValues, ...]  # by level
    pods: int = 0  # in each domain; 0: each has its own number
    pods_each: tuple[int, ...] = ()


class TopologyAssignment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The domains of a podset's pods, in the order of their values, which is that of pod ranks."""

    levels: tuple[str, ...]  # node labels from the top; only the hostname if that is the lowest
    slices: tuple[TopologySlice, ...] = ()


def pack(levels: Sequence[str], domains: Sequence[TopologyDomain]) -> TopologyAssignment:
    """Return domains in compact form; each has a value for each level and at least one pod."""
    if not domains:
        return TopologyAssignment(levels=tuple(levels))
    counts = tuple(domain.count for domain in domains)
    same = len(set(counts)) == 1
    slices = TopologySlice(
        domains=len(domains),
        values=tuple(
            _level_values([domain.values[at] for domain in domains]) for at in range(len(levels))
        ),
        pods=counts[0] if same else 0,
        pods_each=() if same else counts,
    )
    return TopologyAssignment(levels=tuple(levels), slices=(slices,))


def unpack(assignment: TopologyAssignment) -> tuple[TopologyDomain, ...]:
    """Return the domains of an assignment in their order.

    Raises:
        ValueError: a slice has another number of values or pod counts than of domains.
    """
    return tuple(
        TopologyDomain(values=values, count=count)
        for part in assignment.slices
        for values, count in zip(_domain_rows(part), _counts(part), strict=True)
    )


def first_pods(domains: Iterable[TopologyDomain], pods: int) -> Iterator[TopologyDomain]:
    """Yield the domains of the first ``pods`` pods."""
    for domain in domains:
        if pods <= 0:
            return
        yield domain if domain.count <= pods else replace(domain, count=pods)
        pods -= domain.count


def _level_values(values: list[str]) -> LevelValues:
    if len(set(values)) == 1:
        return LevelValues(universal=values[0])
    prefix = _common_prefix(values)
    suffix = _common_prefix([value[len(prefix) :][::-1] for value in values])[::-1]
    end = -len(suffix) or None
    roots = tuple(value[len(prefix) : end] for value in values)
    return LevelValues(prefix=prefix, suffix=suffix, roots=roots)


def _common_prefix(values: list[str]) -> str:
    first, last = min(values), max(values)
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((at for at, (value, other) in pairs if value != other), len(first))]


def _domain_rows(part: TopologySlice) -> Iterator[tuple[str, ...]]:
    columns = [_column(values, part.domains) for values in part.values]
    return zip(*columns, strict=True)


def _column(values: LevelValues, domains: int) -> list[str]:
    if values.universal is not None:
        return [values.universal] * domains
    return [f"{values.prefix}{root}{values.suffix}" for root in values.roots]


def _counts(part: TopologySlice) -> Iterator[int]:
    return iter(part.pods_each) if part.pods_each else repeat(part.pods, part.domains)
