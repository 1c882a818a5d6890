"""The result of flavor assignment, for a workload and for each podset: flavors, or attempts."""

from __future__ import annotations

import msgspec

from tidegate.core.flavors.fitting import FIT, NO_FIT, Attempt, Choice, NoFitReason, Oracle
from tidegate.core.quota.charging import flavor_resource
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.usage import Seat
from tidegate.model.ids import FlavorResource
from tidegate.model.topology import TopologyAssignment

_EXTERNAL = ("NoFit", "Preempt", "Preempt", "Preempt", "Fit")


class PodSetChoice(msgspec.Struct, kw_only=True):
    """The flavors chosen for one podset, or the attempts."""

    name: str
    count: int
    requests: dict[str, int]  # the podset's total
    choices: dict[str, Choice] = {}  # by resource
    attempts: list[Attempt] = []
    reasons: list[str] = []  # why flavors were skipped, or a resource has none
    fits: bool = True  # all chosen flavors fit without preemption
    topology_flavor: str = ""  # the one of its flavors that has a topology
    placed: TopologyAssignment | None = None  # the nodes of its pods
    failure: Failure | None = None  # why its pods find no nodes
    delayed: bool = False  # its pods are placed once its checks are ready
    wrong: bool = False  # it requests a topology and has no flavor with one, or two

    @property
    def mode(self) -> str:
        """Return Fit, Preempt or NoFit."""
        return mode_name(self.worst)

    @property
    def worst(self) -> int:
        """Return the worst mode of its resources, those with amounts of 0 left out."""
        if self.fits:
            return FIT
        if not self.choices or self.wrong:
            return NO_FIT
        modes = [choice.mode for name, choice in self.choices.items() if self.requests.get(name)]
        return min(modes, default=FIT)


class Assignment(msgspec.Struct, kw_only=True):
    """The flavors chosen for a workload, or the attempts."""

    podsets: list[PodSetChoice]
    mode: str = "Fit"  # the worst of the podsets'
    borrows: int = 0  # the highest level of its resources
    reason: NoFitReason | None = None  # why there is no fit
    usage: dict[FlavorResource, int] = {}
    """Its charges beyond those of the slice it replaces, for podsets with flavors."""
    seats: list[Seat] = []  # the nodes of its pods, beyond those of the slice it replaces

    @property
    def scan(self) -> tuple[dict[str, int], ...]:
        """Return where each podset's scan of flavors stopped, by resource."""
        return tuple(
            {name: choice.tried for name, choice in p.choices.items()} for p in self.podsets
        )


def mode_name(mode: int) -> str:
    """Return Kueue's name of a mode: NoFit, Preempt or Fit."""
    return _EXTERNAL[mode]


def highest_borrow_level(assignment: Assignment) -> int:
    """Return the highest level of an assignment's resources."""
    levels = (choice.borrow for podset in assignment.podsets for choice in podset.choices.values())
    return max(levels, default=0)


def call_spared_oracle(oracle: Oracle, assignment: Assignment) -> None:
    """Call the oracle for amounts that it was spared: together they have preemption candidates."""
    for podset in assignment.podsets:
        for resource, choice in podset.choices.items():
            if choice.spared_units:
                fr, units = flavor_resource(choice.flavor, resource), choice.spared_units
                choice.mode, choice.borrow = oracle(fr, units)
                choice.spared_units = 0
    assignment.borrows = highest_borrow_level(assignment)
