"""Whatever befalls one cluster, no Job starts by another's order and no flavor is exceeded."""

from __future__ import annotations

import pytest

from actuator.events import Read, member_filter
from tests.simulation import processes
from tests.simulation.members.__main__ import live
from tests.simulation.members.impostors import THEIRS
from tests.simulation.members.site import GROUPED, QUOTA_MILLI, STRIKES

CUT_LONG = 4
"""A seed in whose world a member is cut off for longer than its ingest is patient."""
TAIL_LOST = 1003
"""A seed in whose world the hub goes on elsewhere with a ledger that lost its newest entries."""
REPLACED_SEED = 2
"""A seed in whose world another cluster takes a member's name for a while, in the register, too."""
REFUSED_SEED = 34
"""A seed in whose world the register refuses that cluster."""
LONG = (CUT_LONG, *range(5, 40))
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in LONG)]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_cluster_runs_its_own_within_its_quota_and_all_ends(seed: int) -> None:
    site = live(seed)
    assert set(site.struck) == set(STRIKES)
    assert site.highest >= QUOTA_MILLI
    grouped = {
        decision.job.cluster
        for decision in site.starts.values()
        if decision.job.kind == "pod-group"
    }
    assert grouped == ({"", "east", "west"} if seed % GROUPED == 1 else set())


@pytest.mark.slow
def test_another_cluster_of_a_member_s_name_changes_nothing() -> None:
    site = live(REPLACED_SEED)
    assert site.identities.replacements > 0
    assert not any(THEIRS in key for key in site.ledger.watch.jobs)
    assert site.ledger.watch.jobs == {}


@pytest.mark.slow
def test_the_register_refuses_another_cluster_of_a_member_s_name() -> None:
    site = live(REFUSED_SEED)
    assert (site.impostor.comes, site.impostor.registers) == (True, False)
    assert site.identities.replacements == 0


@pytest.mark.slow
def test_a_hub_goes_on_elsewhere_without_its_newest_entries() -> None:
    site = live(TAIL_LOST)
    assert (site.moves.kind, site.moves.lost > 0) == ("tail lost", True)
    assert site.ledger.watch.ledger_id == "recovered"


def test_the_judge_notices_an_actuator_that_carries_out_another_cluster_s_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both members' Jobs have the same uids: nothing but the cluster's name keeps it off."""

    def of_west(cluster: str) -> Read:
        del cluster
        return member_filter("west")

    monkeypatch.setattr(processes, "member_filter", of_west)
    with pytest.raises(AssertionError, match=r"is started in east by .* an order of west"):
        live(REPLACED_SEED)
