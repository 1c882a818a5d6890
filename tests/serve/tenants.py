"""A ledger of tenants, each with a ClusterQueue of one job's quota, decided by the real core."""

from __future__ import annotations

from msgspec.structs import replace

from tests.core.queues import defined, of_cpu
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import (
    FactEvent,
    FlavorDefined,
    LedgerOpened,
    NamespaceDefined,
    PolicyConfigured,
    WatchesExpected,
    WorkloadSubmitted,
)
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy
from tidegate.model.quota import FlavorSpec, Quota

SECOND_US = 1_000_000
PODSETS = (PodSet(count=1, containers=(Container(requests={"cpu": "2"}),)),)


class Tenants:
    """Their turns; each tenant is the one of a namespace of its name."""

    def __init__(self) -> None:
        self.state, self.entries, self._at_us = State(), list[Entry](), SECOND_US
        self._turn(
            LedgerOpened(at_us=1, ledger_id="l", cluster="local"),
            PolicyConfigured(at_us=1, name="tidegate", policy=Policy(rules=VERSION)),
            WatchesExpected(at_us=1, resources=()),
            FlavorDefined(at_us=1, name="any", spec=FlavorSpec()),
        )

    def add(self, tenant: str) -> None:
        spec = of_cpu({"any": Quota(nominal=2_000)})
        queues = defined(tenant, spec, local="main", namespace=tenant)
        named = NamespaceDefined(at_us=self._at_us, name=tenant)
        self._turn(named, *(replace(each, at_us=self._at_us) for each in queues))

    def submit(self, tenant: str, name: str) -> None:
        key = uid = f"{tenant}/{name}"
        ref = ObjectRef(kind="batch/job", namespace=tenant, name=name, uid=uid)
        made = WorkloadSubmitted(
            at_us=self._at_us, workload=key, uid=uid, job=ref, queue="main", podsets=PODSETS
        )
        self._turn(made)

    def _turn(self, *facts: FactEvent) -> None:
        for fact in facts:
            apply(self.state, fact)
        events = [*facts, *decide(self.state)]
        self._at_us += SECOND_US
        last = self.entries[-1] if self.entries else GENESIS
        self.entries += seal(last, 1, "local", events)
