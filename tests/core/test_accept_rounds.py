"""Lists and watches of several sessions: which jobs are present, gone or adopted."""

from __future__ import annotations

import pytest

from tests.core.telling import (
    FLAVORS,
    Bus,
    Fields,
    beat,
    completed,
    flavor,
    gone,
    job,
    started,
    types,
)
from tidegate.contracts import observations
from tidegate.core.state.dedup import Dedup
from tidegate.model.quota import FlavorSpec

OTHER = FlavorSpec(node_labels={"other": "yes"})


@pytest.fixture
def bus() -> Bus:
    return Bus().opened()


def flavors(
    bus: Bus, version: int, *present: str, number: int = 1, session: str = "a"
) -> list[str]:
    """Tell a whole round of flavors that were told before, or never."""
    uids = [f"uid-{name}" for name in present]
    begun = started(FLAVORS, number, session)
    ended = completed(version, *uids, resource=FLAVORS, number=number, session=session)
    return types(bus.tell(begun, ended))


def test_the_first_round_of_a_resource_is_reported_and_later_ones_are_not(bus: Bus) -> None:
    assert flavors(bus, 10) == ["SyncStarted", "SyncCompleted"]
    assert flavors(bus, 20, number=2) == []
    assert flavors(bus, 20, session="b") == []


def test_after_a_loss_a_round_is_reported_again(bus: Bus) -> None:
    flavors(bus, 10)
    bus.seq += 1
    assert types(bus.tell(started(FLAVORS, 2))) == ["GapObserved", "SyncStarted"]
    assert types(bus.tell(completed(20, resource=FLAVORS, number=2))) == ["SyncCompleted"]


def test_an_object_not_present_is_gone_whatever_came_between_the_brackets(bus: Bus) -> None:
    bus.tell(flavor("kept"), flavor("lost"))
    facts = flavors(bus, 15, "kept")
    assert facts == ["SyncStarted", "FlavorRemoved", "SyncCompleted"]
    assert list(bus.state.objects.flavors) == ["kept"]


def test_jobs_that_are_not_present_are_gone_and_other_resources_untouched(bus: Bus) -> None:
    bus.tell(job("kept"), job("lost"), flavor())
    events = bus.tell(started(), completed(15, "uid-kept"))
    assert types(events) == ["SyncStarted", "WorkloadRemoved", "SyncCompleted"]
    assert (list(bus.state.workloads), len(bus.state.objects.flavors)) == (["team/job-uid-kept"], 1)


def test_a_round_does_not_remove_what_is_newer_than_its_list(bus: Bus) -> None:
    bus.tell(started(FLAVORS), flavor("newer", version=16), flavor("told", version=10))
    bus.tell(flavor("told", version=17))  # no news, but newer all the same
    assert types(bus.tell(completed(15, resource=FLAVORS))) == ["SyncCompleted"]


def test_presence_comes_in_pieces_and_counts_when_all_are_there(bus: Bus) -> None:
    bus.tell(flavor("x"), flavor("y"), flavor("z"), started(FLAVORS))
    pieces = [
        observations.SyncCompleted(
            resource=FLAVORS,
            session="a",
            round=1,
            list_version=15,
            present=(uid,),
            piece=piece,
            pieces=2,
        )
        for piece, uid in ((1, "uid-x"), (2, "uid-z"))
    ]
    assert bus.tell(pieces[0]) == []
    assert types(bus.tell(pieces[1])) == ["FlavorRemoved", "SyncCompleted"]
    assert list(bus.state.objects.flavors) == ["x", "z"]


@pytest.mark.parametrize("loss", ["restart", "hole"])
def test_a_round_that_lost_something_removes_no_job_and_asks_for_another(
    bus: Bus, loss: str
) -> None:
    bus.tell(flavor("x"), started(FLAVORS))
    if loss == "restart":
        bus.state.dedup = Dedup()
    else:
        bus.seq += 1
        assert "GapObserved" in types(bus.tell(beat(1)))
    assert types(bus.tell(completed(15, resource=FLAVORS))) == ["GapObserved"]
    assert list(bus.state.objects.flavors) == ["x"]
    assert "SyncCompleted" in flavors(bus, 16, "x", number=2)


def test_a_later_round_that_a_restart_cut_in_two_asks_for_another(bus: Bus) -> None:
    bus.tell(flavor("gone"))
    flavors(bus, 15, "gone")
    bus.tell(started(FLAVORS, 1, "b"))  # of an ingest that was not there when it went
    bus.state.dedup = Dedup()
    ended = completed(17, resource=FLAVORS, session="b")
    assert types(bus.tell(ended)) == ["GapObserved"]
    assert flavors(bus, 18, number=2, session="b") == [
        "SyncStarted",
        "FlavorRemoved",
        "SyncCompleted",
    ]


def test_an_older_version_of_an_object_is_dropped(bus: Bus) -> None:
    bus.tell(flavor(version=20))
    assert bus.tell(flavor(version=19, spec=OTHER)) == []
    assert types(bus.tell(flavor(version=21, spec=OTHER))) == ["FlavorDefined"]


def test_a_version_that_was_no_news_makes_older_ones_outdated(bus: Bus) -> None:
    bus.tell(flavor(version=10), flavor(version=12))
    assert bus.tell(flavor(version=11, spec=OTHER, session="b")) == []


def test_a_lagging_watch_does_not_bring_back_what_a_list_did_not_have(bus: Bus) -> None:
    flavors(bus, 30)
    assert bus.tell(flavor(version=25, session="b")) == []
    assert types(bus.tell(flavor(version=31, session="b"))) == ["FlavorDefined"]


def test_a_job_that_ended_and_is_reported_late_makes_no_list_look_like_a_restored_cluster(
    bus: Bus,
) -> None:
    bus.tell(started(), completed(30))
    assert bus.tell(job(version=25, finished="Succeeded", session="b")) == []
    assert bus.tell(started(number=2), completed(40, job().uid, number=2)) == []


@pytest.mark.parametrize(
    "stands",
    [
        {"finished": "OutOfSync", "prebuilt": "made"},
        {"finished": "Succeeded", "left_open": True},
    ],
)
def test_a_finished_job_of_which_something_follows_is_asked_for(bus: Bus, stands: Fields) -> None:
    """It is not over: its prebuilt Workload differs, or shows quota still."""
    bus.tell(started(), completed(30))
    assert bus.tell(job(version=25, session="b", **stands)) == []
    facts = bus.tell(started(number=2), completed(40, job().uid, number=2))
    assert "GapObserved" in types(facts)


def test_what_a_list_tells_counts_though_it_is_older_than_the_newest_list(bus: Bus) -> None:
    flavors(bus, 30)
    assert types(bus.tell(started(FLAVORS, 2), flavor(version=25, round=2)))[-1] == "FlavorDefined"


def test_a_list_whose_beginning_was_lost_brings_no_job_back(bus: Bus) -> None:
    bus.tell(flavor(version=10), started(FLAVORS, session="b"), gone("default", 20, FLAVORS))
    bus.seq += 1
    for version in (30, 40, 50):
        flavors(bus, version, number=version)
    assert bus.tell(flavor(version=10, session="b", round=1)) == []
    late = completed(15, "uid-default", resource=FLAVORS, session="b")
    assert types(bus.tell(late)) == ["GapObserved"]  # all is reported again


def test_a_list_that_later_ones_have_overtaken_brings_no_job_back(bus: Bus) -> None:
    """A removed job is remembered until the second list after it, and one lags behind that."""
    bus.tell(flavor(version=10), started(FLAVORS, session="b"), gone("default", 20, FLAVORS))
    for version in (30, 40, 50):
        flavors(bus, version, number=version)
    assert bus.tell(flavor(version=10, session="b", round=1)) == []
    late = completed(15, "uid-default", resource=FLAVORS, session="b")
    assert types(bus.tell(late)) == []
    assert list(bus.state.objects.flavors) == []


def test_what_an_overtaken_list_reported_and_a_later_one_has_is_asked_for(bus: Bus) -> None:
    bus.tell(started(FLAVORS, session="b"))
    flavors(bus, 30)
    assert bus.tell(flavor(version=25, session="b", round=1)) == []
    assert "GapObserved" in flavors(bus, 40, "default", number=2)
    begun = started(FLAVORS, 3)
    assert types(bus.tell(begun, flavor(version=25, round=3))) == ["FlavorDefined"]


def test_a_list_that_was_overtaken_tells_of_what_is_newer_than_those(bus: Bus) -> None:
    bus.tell(started(FLAVORS, session="b"))
    flavors(bus, 30)
    assert types(bus.tell(flavor(version=31, session="b", round=1))) == ["FlavorDefined"]


@pytest.mark.parametrize("round_", [0, 3])
def test_a_removed_uid_does_not_come_back(bus: Bus, round_: int) -> None:
    bus.tell(flavor(version=10), gone("default", 20, FLAVORS))
    assert bus.tell(flavor(version=19, session="b", round=round_)) == []
    bus.tell(job(), gone())
    assert bus.tell(job(version=19, session="b", round=round_)) == []


def test_the_end_of_an_object_never_reported_is_remembered(bus: Bus) -> None:
    assert bus.tell(gone("default", 20, FLAVORS)) == []
    assert bus.tell(flavor(version=19, round=3)) == []


def test_a_lagging_round_removes_nothing_that_it_cannot_know_of(bus: Bus) -> None:
    bus.tell(started(FLAVORS, session="b"), flavor("new", version=40))
    bus.tell(started(FLAVORS), completed(50, "uid-new", resource=FLAVORS))
    assert bus.tell(completed(30, resource=FLAVORS, session="b")) == []
    assert list(bus.state.objects.flavors) == ["new"]
    assert bus.state.rounds[FLAVORS].list_version == 50


def test_a_namesake_of_a_definition_is_a_removal_and_a_new_one(bus: Bus) -> None:
    bus.tell(flavor())
    events = bus.tell(flavor(uid="uid-2", version=20))
    assert types(events) == ["FlavorRemoved", "FlavorDefined"]
    assert bus.tell(flavor(version=15), gone("default", 21, FLAVORS)) == []
    assert bus.state.objects.flavors["default"].uid == "uid-2"


def test_an_older_namesake_of_a_definition_never_observed_before_is_the_past(bus: Bus) -> None:
    bus.tell(flavor(uid="uid-2", version=20))
    assert bus.tell(flavor(version=15, round=3)) == []


def test_an_unseen_end_before_a_list_makes_no_namesake_the_past(bus: Bus) -> None:
    """Only that it is absent is known, and not since when: its namesake may be older than that."""
    bus.tell(flavor(version=10))
    flavors(bus, 30, "new")  # of what was reported of it nothing came
    again = flavor(uid="uid-new", version=20, round=2)
    ended = completed(40, "uid-new", resource=FLAVORS, number=2)
    assert types(bus.tell(started(FLAVORS, 2), again)) == ["FlavorDefined"]
    assert bus.tell(ended) == []


def restored(bus: Bus, number: int, session: str) -> list[str]:
    """Tell a list of version 20 after versions up to 50: w, x are older, y gone, z unknown."""
    facts = bus.tell(
        started(FLAVORS, number, session),
        flavor("w", version=14, round=number, session=session),
        flavor("x", version=15, spec=OTHER, round=number, session=session),
        flavor("z", version=16, round=number, session=session),
        completed(20, "uid-x", "uid-w", "uid-z", resource=FLAVORS, number=number, session=session),
    )
    return types(facts)


@pytest.mark.parametrize("session", ["a", "b"])
def test_a_restored_cluster_replaces_everything_and_counts_anew(bus: Bus, session: str) -> None:
    bus.tell(*(flavor(name, version=49) for name in "wxy"))
    flavors(bus, 50, "w", "x", "y")
    facts = restored(bus, 2, session)
    assert facts == ["FlavorDefined", "FlavorRemoved", "SyncCompleted", "FlavorDefined"]
    assert sorted(bus.state.objects.flavors) == ["w", "x", "z"]
    assert bus.state.objects.flavors["x"].spec == OTHER
    assert types(bus.tell(flavor("w", version=21, spec=OTHER))) == ["FlavorDefined"]


def test_versions_alone_show_a_restore_after_a_restart(bus: Bus) -> None:
    flavors(bus, 10)
    bus.tell(*(flavor(name, version=49) for name in "wxy"))
    bus.state.dedup = Dedup()
    assert "FlavorRemoved" in restored(bus, 2, "b")


def test_what_a_restore_brings_back_is_asked_for(bus: Bus) -> None:
    bus.tell(flavor(version=10))
    flavors(bus, 12, "default")
    bus.tell(gone("default", 13, FLAVORS))
    assert "GapObserved" in flavors(bus, 20, "default", number=2)
    again = started(FLAVORS, 3), flavor(version=10, round=3)
    assert types(bus.tell(*again))[-1] == "FlavorDefined"


def test_a_list_as_new_as_a_removal_shows_a_restore_too(bus: Bus) -> None:
    bus.tell(flavor(version=10))
    flavors(bus, 12, "default")
    bus.tell(gone("default", 13, FLAVORS))
    assert "GapObserved" in flavors(bus, 13, "default", number=2)


def test_a_job_on_its_way_out_is_in_a_list_of_that_version(bus: Bus) -> None:
    bus.tell(started(), completed(3), job(version=8))
    bus.tell(job(version=13, state=observations.JobState(deleting=True)))
    assert not bus.state.workloads
    assert bus.tell(started(number=2), completed(13, job().uid, number=2)) == []
    later = bus.tell(started(number=3), completed(14, job().uid, number=3))
    assert "GapObserved" in types(later)
