"""Which pod goes where: in rank order, never more than were assigned, whatever happened before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actuator.ungating.domains import Numbering, PodSetPlacement, choose_domains, rank
from tests.parts.drawn import drawn
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod, PodSpec, PodStatus
from tidegate.model.topology import TopologyDomain

GATE, HOST = "kueue.x-k8s.io/topology", "kubernetes.io/hostname"
INDEX, JOB, OFFSET = "index", "job", "kueue.x-k8s.io/pod-index-offset"


def place(*counts: tuple[str, int], failed: tuple[str, ...] = ()) -> PodSetPlacement:
    domains = tuple(TopologyDomain(values=(name,), count=count) for name, count in counts)
    numbering = Numbering(label=INDEX)
    return PodSetPlacement(levels=(HOST,), domains=domains, failed=failed, numbering=numbering)


def pod(  # noqa: PLR0913 - what a row says
    name: str,
    index: int | None = None,
    at: str = "",
    phase: str = "",
    *,
    made: str = "",
    deleted: str | None = None,
    on: str = "",
) -> Pod:
    """Return a pod that waits, or that was let go to a host."""
    labels = {} if index is None else {INDEX: str(index)}
    gated = PodSpec(scheduling_gates=({"name": GATE},))
    spec = PodSpec(node_selector={HOST: at}, node_name=on) if at else gated
    about = ObjectMeta(
        name=name, uid=name, labels=labels, creation_timestamp=made, deletion_timestamp=deleted
    )
    return Pod(metadata=about, spec=spec, status=PodStatus(phase=phase))


def placed(pods: Sequence[Pod], where: PodSetPlacement, **sent: str) -> dict[str, str]:
    mapping = {name: (host,) for name, host in sent.items()}
    return {name: values[0] for name, values in choose_domains(pods, where, mapping, GATE).items()}


ROOMY = place(("a", 2), ("b", 1), ("c", 2))
CASES = {
    "ranks": ([pod("y", 0), pod("x", 4), pod("z", 2)], ROOMY, {"y": "a", "x": "c", "z": "b"}),
    "no ranks": ([pod("z"), pod("y"), pod("x")], ROOMY, {"x": "a", "y": "a", "z": "b"}),
    "two of a rank": ([pod("y", 4), pod("x", 4)], ROOMY, {"x": "a", "y": "a"}),
    "a rank too high": ([pod("y", 5), pod("x", 4)], ROOMY, {"x": "a", "y": "a"}),
    "others run elsewhere": ([pod("y", 4), pod("x", 0, at="c")], ROOMY, {"y": "a"}),
    "others run there": ([pod("y", 4), pod("x", 0, at="a")], ROOMY, {"y": "c"}),
    "an end makes room": ([pod("y", 1), pod("x", 1, at="a", phase="Failed")], ROOMY, {"y": "a"}),
    "leaving takes room": (
        [pod("y", 2), pod("x", 2, at="b", deleted="now", on="b")],
        ROOMY,
        {},
    ),
    "not a pod that was never bound": (
        [pod("y", 2), pod("x", 2, at="b", deleted="now")],
        ROOMY,
        {"y": "b"},
    ),
    "no more than assigned": ([pod(f"{n}") for n in range(9)], place(("a", 1)), {"0": "a"}),
    "the older first": (
        [pod("x", made="2"), pod("y", made="1")],
        place(("a", 1), ("b", 1)),
        {"y": "a", "x": "b"},
    ),
    "not to a failed node": (
        [pod("x", 0), pod("y", 1), pod("z", 2)],
        place(("a", 2), ("b", 1), failed=("a",)),
        {"z": "b"},
    ),
    "a replaced node": (
        [pod("x", 0, at="a"), pod("y", 1), pod("z", 2, at="c")],
        place(("a", 1), ("c", 1), ("d", 1)),
        {"y": "d"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_goes_where_its_rank_says_else_into_the_first_room(case: str) -> None:
    pods, where, wanted = CASES[case]
    assert placed(pods, where) == wanted


def test_a_pod_that_may_have_been_assigned_a_domain_keeps_it() -> None:
    pods = [pod("x"), pod("y", made="1")]
    assert placed(pods, place(("a", 1), ("b", 1)), y="a") == {"y": "a", "x": "b"}


def test_a_rank_is_counted_over_the_jobs_of_a_podset_and_from_its_first_pod() -> None:
    def rank_of(index: int, numbering: Numbering, **more: str) -> int | None:
        about = ObjectMeta(labels={INDEX: str(index), JOB: "2"}, annotations=more)
        return rank(Pod(metadata=about), numbering)

    several = Numbering(label=INDEX, group_label=JOB, group_size=3)
    assert rank_of(1, several) == 7
    assert rank_of(1, Numbering(label=INDEX, group_label="none", group_size=3)) is None
    assert rank_of(1, Numbering(label=INDEX, offset=1)) == 0
    assert rank_of(3, Numbering(label=INDEX, offset=1), **{OFFSET: "2"}) == 1
    assert rank_of(1, Numbering()) is None


@st.composite
def histories(draw: st.DrawFn) -> tuple[PodSetPlacement, list[Pod], dict[str, str]]:
    """Return a place, pods of any past, and of some what they may have been told."""
    counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    hosts = [f"h{at}" for at in range(len(counts))]
    failed = draw(st.sets(st.sampled_from(hosts), max_size=1))
    where = place(*zip(hosts, counts, strict=True), failed=tuple(failed))
    pods, room = list[Pod](), dict(zip(hosts, counts, strict=True))
    for number in range(draw(st.integers(0, 2 * sum(counts)))):
        host = draw(st.sampled_from([*hosts, "", ""]))
        phase = draw(st.sampled_from(["", "Running", "Failed"]))
        index = draw(st.one_of(st.none(), st.integers(0, sum(counts))))
        if host and phase != "Failed":
            room[host] -= 1
        if not host or room[host] >= 0:
            pods.append(pod(f"p{number}", index, host, phase))
    sent = {
        candidate_pod.metadata.name: draw(st.sampled_from(hosts))
        for candidate_pod in pods
        if draw(st.booleans())
    }
    for name, host in list(sent.items()):
        room[host] -= 1
        if room[host] < 0:
            del sent[name]
    return where, pods, sent


def held(pods: Sequence[Pod]) -> Counter[str]:
    """Return how many pods each host has."""
    live = (candidate_pod for candidate_pod in pods if candidate_pod.status.phase != "Failed")
    return Counter(
        candidate_pod.spec.node_selector[HOST]
        for candidate_pod in live
        if candidate_pod.spec.node_selector
    )


@drawn(80)
@given(histories())
def test_never_more_pods_in_a_domain_than_assigned_and_no_room_left_that_a_pod_waits_for(
    history: tuple[PodSetPlacement, list[Pod], dict[str, str]],
) -> None:
    where, pods, sent = history
    chosen = placed(pods, where, **sent)
    assert placed(pods[::-1], where, **sent) == chosen
    live = [candidate_pod for candidate_pod in pods if candidate_pod.status.phase != "Failed"]
    waiting = {
        candidate_pod.metadata.name for candidate_pod in live if candidate_pod.spec.scheduling_gates
    }
    room = {
        domain.values[0]: domain.count
        for domain in where.domains
        if domain.values[0] not in where.failed
    }
    full = held(pods) + Counter(chosen.values())
    assert chosen.keys() <= waiting
    assert set(chosen.values()) <= room.keys()
    assert all(full[host] <= count for host, count in room.items())
    mapping = {text: host for text, host in sent.items() if text in waiting and host in room}
    assert mapping.items() <= chosen.items()
    if not all(
        candidate_pod.metadata.labels for candidate_pod in live
    ):  # else their ranks say where they go
        left = sum((Counter(room) - held(pods)).values())
        assert len(chosen) == min(len(waiting), left)
