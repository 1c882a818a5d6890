"""A member is the cluster that its uid says, and another's list under its name changes nothing."""

from __future__ import annotations

from msgspec.structs import replace

from tests.core.member_clusters import Hub
from tests.core.telling import JOBS, beat, completed, gone, job, started, types
from tidegate.contracts import observations
from tidegate.contracts.fact_kinds.clusters import RemoteClusterChanged
from tidegate.contracts.facts import FactEvent, LedgerOpened, RoundStarted
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.dedup import Dedup
from tidegate.model.policy import Policy

EAST, OTHER = "uid-of-east", "uid-of-another"
KEY = "team/job-uid-train@east"


def begins(uid: str, number: int = 1, session: str = "a") -> observations.SyncStarted:
    return replace(started(number=number, session=session), cluster_uid=uid)


def joined() -> Hub:
    """Return a hub whose member east has told its uid and runs a job."""
    hub = Hub().open()
    hub.members["east"].tell(begins(EAST, 2), job(), completed(6, "uid-train", number=2))
    hub.decide()
    assert hub.bus.state.workloads[KEY].assignment
    return hub


def changes(facts: list[FactEvent]) -> list[tuple[bool, str, str]]:
    events = (each for each in facts if isinstance(each, RemoteClusterChanged))
    return [(each.connected, each.reason, each.cluster_uid) for each in events]


def bound_by(facts: list[FactEvent]) -> list[str]:
    return [each.cluster_uid for each in facts if isinstance(each, RoundStarted)]


def listed_by_another(hub: Hub, number: int = 1) -> list[FactEvent]:
    """Let another cluster that has no job list in the place of east."""
    return hub.members["east"].tell(
        begins(OTHER, number, "b"), completed(3, number=number, session="b"), beat(1, JOBS)
    )


def test_the_uid_is_recorded_when_a_member_is_first_heard_of_and_once() -> None:
    hub = Hub().open(Policy(member_clusters=("east",)))
    facts = hub.members["east"].tell(begins(EAST, 2), completed(6, number=2), beat(3, JOBS))
    assert changes(facts) == [(True, "", EAST)]
    assert changes(hub.members["east"].tell(begins(EAST, 3), beat(4, JOBS))) == []
    assert hub.bus.state.member_uids == {"east": EAST}


def test_a_cluster_that_is_new_tells_its_uid_with_being_heard() -> None:
    hub = Hub().open()
    hub.pass_time(40, "west")
    east = hub.members["east"]
    assert changes(east.tell(begins(EAST, 2))) == []
    assert changes(east.tell(completed(6, number=2), beat(90, JOBS))) == [(True, "", EAST)]


def test_the_first_list_counts_also_before_the_member_is_heard_of() -> None:
    hub = Hub().open()
    hub.pass_time(40, "west")
    hub.members["east"].tell(begins(EAST, 2), job())
    assert changes(listed_by_another(hub)) == [(False, "Replaced", EAST)]
    assert [*hub.bus.state.workloads] == [KEY]
    hub.bus.state.dedup = Dedup()
    assert changes(listed_by_another(hub, 2)) == []
    assert changes(hub.members["east"].tell(begins(EAST, 3))) == [(False, "Silent", "")]


def test_the_uid_of_the_first_list_outlasts_a_scheduler_that_died_before_it_was_complete() -> None:
    hub = Hub()
    hub.bus.tell(observed(Policy(member_clusters=("east",))), beat(1, JOBS))
    east = hub.members["east"]
    assert bound_by(east.tell(begins(EAST))) == [EAST]
    hub.bus.state.dedup = Dedup()
    assert changes(listed_by_another(hub)) == [(False, "Replaced", "")]
    assert hub.bus.state.member_uids == {"east": EAST}


def test_the_uid_stands_in_a_member_s_first_list_alone() -> None:
    hub = Hub()
    hub.bus.tell(observed(Policy(member_clusters=("west",))), beat(1, JOBS))
    of_namespaces = replace(begins(OTHER), resource="namespaces")
    assert bound_by(hub.members["west"].tell(begins(OTHER), of_namespaces)) == [OTHER, ""]
    assert bound_by(hub.members["east"].tell(begins(EAST))) == [""], "it is no member"
    assert hub.bus.state.member_uids == {"west": OTHER}


def test_another_cluster_s_list_releases_nothing_and_is_reported_once() -> None:
    hub = joined()
    assert changes(listed_by_another(hub)) == [(False, "Replaced", "")]
    assert changes(listed_by_another(hub, 2)) == []
    state = hub.bus.state
    assert state.workloads[KEY].phase in ("reserved", "admitted")
    assert state.remote_clusters["@east"].message.endswith(
        f"{OTHER} observes in the place of {EAST}"
    )
    hub.members["east"].tell(job("late", session="b"))
    assert "team/job-uid-late@east" not in state.workloads


def test_its_own_cluster_is_heard_again() -> None:
    hub = joined()
    listed_by_another(hub)
    east = hub.members["east"]
    facts = east.tell(begins(EAST, 3), job(), completed(8, "uid-train", number=3), beat(9, JOBS))
    assert changes(facts) == [(False, "Silent", ""), (True, "", "")]


def test_the_other_cluster_is_taken_once_the_member_was_not_listed_for_a_start() -> None:
    hub = joined()
    listed_by_another(hub)
    for members in (("west",), ("east", "west")):
        hub.bus.tell(observed(Policy(member_clusters=members)))
    facts = listed_by_another(hub, 2)
    assert changes(facts) == [(True, "", OTHER)]
    assert KEY not in hub.bus.state.workloads


def test_it_outlasts_a_new_name_of_the_ledger_and_a_snapshot() -> None:
    hub = joined()
    state = hub.bus.state
    apply(state, LedgerOpened(at_us=state.now_us, ledger_id="recovered", cluster="local"))
    assert decode(encode(state)).member_uids == {"east": EAST}


def recovered() -> Hub:
    """Return a hub whose ledger goes on under a new name, as ``tidegate ledger recover`` does."""
    hub = joined()
    state = hub.bus.state
    apply(state, LedgerOpened(at_us=state.now_us, ledger_id="recovered", cluster="local"))
    state.dedup = Dedup()
    return hub


def test_under_a_new_name_the_middle_of_another_cluster_s_list_releases_nothing() -> None:
    hub = recovered()
    east = hub.members["east"]
    theirs = job(uid="uid-of-theirs", version=30, session="b")
    gaps = east.tell(theirs, gone(version=30), replace(theirs, version=31))
    assert types(gaps) == ["GapObserved"], "it is told once, so that a resync is asked for"
    assert [*hub.bus.state.workloads] == [KEY]
    listed = east.tell(begins(OTHER, 2, "b"), theirs, completed(32, "uid-of-theirs", session="b"))
    assert changes(listed) == [(False, "Replaced", "")]
    assert [*hub.bus.state.workloads] == [KEY]


def test_under_a_new_name_a_member_is_believed_once_a_list_of_it_has_begun() -> None:
    hub = recovered()
    east = hub.members["east"]
    assert types(east.tell(job("late", version=30))) == ["GapObserved"]
    facts = east.tell(begins(EAST, 3), job("late", version=30), job(version=30))
    assert types(facts) == ["SyncStarted", "WorkloadSubmitted"]
    hub.bus.tell(beat(2, JOBS))
    east.tell(beat(3, JOBS), completed(31, "uid-train", "uid-late", number=3), beat(4, JOBS))
    hub.bus.state.dedup = Dedup()
    assert types(east.tell(job("later", version=40))) == ["WorkloadSubmitted"]


def observed(policy: Policy) -> observations.PolicyObserved:
    return observations.PolicyObserved(
        name="tidegate", uid="p", version=2, session="a", policy=policy
    )
