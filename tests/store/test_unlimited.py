"""Quota without a limit, and requests that fill it: each report adds up what no integer holds."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from store.ledger import SqlLedger
from store.views.catalog import VIEWS
from tests.store.histories import AT, LEASE_US, sealed
from tests.store.story import Turn, admitted, minute, submitted
from tests.store.test_views import table_of
from tidegate.contracts import facts
from tidegate.contracts.decisions import QuotaReserved
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quantity import UNLIMITED
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)

NAMES = ("a", "b")
PODSETS = tuple(
    PodSetAssignment(name=name, count=1, flavors={"memory": "any"}, usage={"memory": UNLIMITED})
    for name in ("driver", "worker")
)


def unlimited(name: str) -> facts.ClusterQueueDefined:
    flavor = FlavorQuotas(flavor="any", quotas={"memory": Quota(nominal=UNLIMITED)})
    group = ResourceGroup(resources=("memory",), flavors=(flavor,))
    spec = ClusterQueueSpec(cohort="all", groups=(group,))
    return facts.ClusterQueueDefined(at_us=minute(0), name=name, spec=spec, author="kim")


def filled(workload: str, queue: str) -> Turn:
    """Return that a workload of two podsets holds all that there is twice."""
    _, admission = admitted(1, workload, queue, 1)
    reserved = QuotaReserved(
        at_us=minute(1), workload=workload, cluster_queue=queue, assignment=PODSETS
    )
    return [submitted(1, workload, 2), reserved, admission]


@pytest.fixture(scope="module")
def engine(shared_engine: Engine) -> Engine:
    """A ledger with two queues of one cohort, and two workloads in each, all without a limit."""
    ledger = SqlLedger(shared_engine)
    ledger.begin_term("a", LEASE_US)
    opened = facts.LedgerOpened(at_us=minute(0), ledger_id="story", cluster="local")
    spec = LocalQueueSpec(cluster_queue="a", weight=10**28)  # as an earlier version read it
    local = facts.LocalQueueDefined(at_us=minute(0), name="main", namespace="a", spec=spec)
    turns: list[Turn] = [[opened, *map(unlimited, NAMES), local]]
    turns += [filled(f"{name}/job-{n}", name) for name in NAMES for n in range(2)]
    turns += [[facts.TimePassed(at_us=minute(hours * 60))] for hours in (1, 2)]
    for entries in sealed(*turns):
        ledger.append(1, entries[0].seq - 1, entries, AT)
    return shared_engine


@pytest.mark.parametrize("name", VIEWS)
def test_a_report_adds_up_amounts_without_a_limit(engine: Engine, name: str) -> None:
    assert table_of(engine, name)
