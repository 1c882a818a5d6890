"""Any history of a cluster, reported by two sessions that lag as they like, ends at the truth.

The cluster is a log of versions; a session follows it by watch and lists it now and then, and says
nothing twice, as ingest does. Messages may be lost, the scheduler may start again, and the cluster
may be restored from a backup: then a resync, and the state is what the cluster is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.telling import FLAVORS, JOBS, Bus, Fields, flavor, gone, job, types
from tests.parts.drawn import drawn
from tidegate.contracts import observations
from tidegate.core.state.dedup import Dedup
from tidegate.model.podset import Container, PodSet
from tidegate.model.quota import FlavorSpec

NAMES = ("x", "y")
Change = tuple[int, str, str, int]  # version, name, uid, what it says; 0: deleted


@dataclass
class Cluster:
    """What is true: the newest content of each object, and how it came to be."""

    version: int = 0
    log: list[Change] = field(default_factory=list)
    uids: int = 0

    def write(self, name: str, says: int) -> None:
        """Make, change or (``says`` is 0) delete the object of a name."""
        known = self.state().get(name)
        if known is None and not says:
            return
        self.version += 1
        self.uids += known is None
        uid = f"{name}-{self.uids}" if known is None else known[2]
        self.log.append((self.version, name, uid, says))

    def state(self, until: int | None = None) -> dict[str, Change]:
        """Return the objects that are there, by name."""
        there: dict[str, Change] = {}
        for change in self.log:
            if until is None or change[0] <= until:
                there[change[1]] = change
        return {name: change for name, change in there.items() if change[3]}

    def restore(self, version: int) -> None:
        """Go back to how it was at a version; no object gets a uid again that was made since."""
        self.log = [change for change in self.log if change[0] <= version]
        self.version = version


@dataclass
class Session:
    """An ingest of one resource; what it says is stored when it says so."""

    name: str
    resource: str
    cluster: Cluster
    seen_until: int = 0
    round: int = 0
    listed: dict[str, Change] | None = None
    last: dict[str, observations.Observation] = field(default_factory=dict)

    def begin(self) -> list[observations.Observation]:
        """Begin a list: what is there now is what it will tell, however late."""
        self.round += 1
        self.listed, self.seen_until = self.cluster.state(), self.cluster.version
        return [
            observations.SyncStarted(resource=self.resource, session=self.name, round=self.round)
        ]

    def end(self) -> list[observations.Observation]:
        """Tell the objects listed and the uids present."""
        assert self.listed is not None
        there, self.listed = self.listed, None
        observed = [each for change in there.values() for each in self.say(change, self.round)]
        uids = tuple(change[2] for change in there.values())
        ended = observations.SyncCompleted(
            resource=self.resource,
            session=self.name,
            round=self.round,
            list_version=self.seen_until,
            present=uids,
        )
        return [*observed, ended]

    def watch(self, count: int) -> list[observations.Observation]:
        """Tell the next changes."""
        if self.listed is not None or not self.round:
            return []
        following = [change for change in self.cluster.log if change[0] > self.seen_until][:count]
        self.seen_until = following[-1][0] if following else self.seen_until
        return [each for change in following for each in self.say(change, 0)]

    def say(self, change: Change, number: int) -> list[observations.Observation]:
        version, name, uid, says = change
        if not says:
            self.last.pop(uid, None)
            return [replace(gone(name, version, self.resource, uid=uid), session=self.name)]
        fields: Fields = {"uid": uid, "version": version, "session": self.name, "round": number}
        if self.resource == JOBS:
            podsets = (PodSet(containers=(Container(requests={"cpu": str(says)}),)),)
            observation: observations.JobObserved | observations.FlavorObserved = job(
                name, podsets=podsets, **fields
            )
        else:
            observation = flavor(name, spec=FlavorSpec(topology=str(says)), **fields)
        content = replace(observation, version=0, round=0)
        if self.last.get(uid) == content:
            return []
        self.last[uid] = content
        return [observation]


@dataclass
class Listener:
    """Hears every observation, and draws the only conclusions that can be drawn."""

    newest: dict[str, tuple[int, str, str]] = field(default_factory=dict)  # uid to version, name, …
    dead: set[str] = field(default_factory=set)
    listed: int = 0

    def hear(self, obs: observations.Observation) -> None:
        if isinstance(obs, observations.ObjectGone):
            self.dead.add(obs.uid)
        elif isinstance(obs, observations.SyncCompleted):
            self.listed = max(self.listed, obs.list_version)
            told_of = [uid for uid, (at, _, _) in self.newest.items() if at <= obs.list_version]
            self.dead |= set(told_of) - set(obs.present)
        elif isinstance(obs, observations.JobObserved | observations.FlavorObserved):
            self.object(obs)

    def object(self, obs: observations.JobObserved | observations.FlavorObserved) -> None:
        if obs.round == 0 and obs.version <= self.listed and obs.uid not in self.newest:
            self.dead.add(obs.uid)  # a list that came after it did not have it
        if obs.version >= self.newest.get(obs.uid, (0,))[0]:
            self.newest[obs.uid] = obs.version, obs.name, content(obs)

    def knows(self) -> dict[str, str]:
        """Return what must be known, by uid."""
        living = [(at, name, uid) for uid, (at, name, _) in self.newest.items()]
        last = {name: uid for _, name, uid in sorted(living)}  # of namesakes the newest
        return {uid: self.newest[uid][2] for uid in last.values() if uid not in self.dead}


def content(obs: observations.JobObserved | observations.FlavorObserved) -> str:
    if isinstance(obs, observations.FlavorObserved):
        return obs.spec.topology
    return obs.podsets[0].containers[0].requests["cpu"]


def truth(cluster: Cluster) -> dict[str, str]:
    return {change[2]: str(change[3]) for change in cluster.state().values()}


def known(bus: Bus, resource: str) -> dict[str, str]:
    if resource == FLAVORS:
        return {each.uid: each.spec.topology for each in bus.state.objects.flavors.values()}
    return {
        each.uid: each.podsets[0].containers[0].requests["cpu"]
        for each in bus.state.workloads.values()
    }


def tell(bus: Bus, sessions: list[Session], observed: list[observations.Observation]) -> None:
    """Accept what is said; after a loss every session tells everything again, when it can."""
    if "GapObserved" in types(bus.tell(*observed)):
        for session in sessions:
            session.last.clear()
            session.round += session.listed is not None
            session.listed = None


writes = st.tuples(st.just("write"), st.sampled_from(NAMES), st.integers(0, 3))
watches = st.tuples(st.just("watch"), st.sampled_from("ab"), st.integers(1, 4))
lists = st.tuples(st.sampled_from(("begin", "end")), st.sampled_from("ab"), st.just(0))
restarts = st.tuples(st.just("restart"), st.just("a"), st.just(0))
losses = st.tuples(st.just("lose"), st.just("a"), st.integers(1, 3))
restores = st.tuples(st.just("restore"), st.just("a"), st.integers(1, 6))
Step = tuple[str, str, int]
CAUGHT_UP: list[Step] = [
    *(("write", "x", 1), ("write", "y", 1), ("write", "y", 2)),
    *(("begin", "b", 0), ("end", "b", 0), ("write", "x", 0)),
]
"""After the restore the versions soon reach those known before; only an object's own tells."""
OUTDATED: list[Step] = [
    *(("begin", "a", 0), ("write", "x", 1), ("begin", "b", 0), ("end", "a", 0), ("end", "b", 0)),
]
"""After the restore a watch tells of an object that an older list would have had."""

NAMESAKE: list[Step] = [
    *(("write", "x", 1), ("begin", "a", 0), ("begin", "b", 0), ("end", "a", 0)),
    *(("write", "x", 0), ("write", "x", 1), ("watch", "a", 2), ("end", "b", 0)),
]
"""After the restore another object takes the name of one that is known at a newer version."""

UNSAID: list[Step] = [
    *(("write", "x", 1), ("begin", "a", 0), ("begin", "b", 0), ("end", "b", 0)),
    *(("write", "x", 0), ("begin", "b", 0), ("end", "a", 0), ("end", "b", 0)),
]
"""After the restore a session lists what it told long ago, and of whose end it never heard."""

PREDECESSOR: list[Step] = [
    *(("write", "y", 1), ("begin", "b", 0), ("write", "y", 0), ("write", "y", 1)),
    *(("begin", "a", 0), ("write", "y", 0), ("end", "a", 0), ("watch", "a", 1), ("end", "b", 0)),
]
"""A session that lags lists the holder of a name before one that is gone by now."""


def play(resource: str, steps: list[Step]) -> tuple[Bus, Cluster]:
    bus, cluster = Bus().opened(), Cluster()
    sessions = {name: Session(name, resource, cluster) for name in "ab"}
    everyone = list(sessions.values())
    for what, name, number in steps:
        if what == "write":
            cluster.write(name, number)
        elif what == "restart":
            bus.state.dedup = Dedup()
        elif what == "lose":
            bus.seq += number
        elif what == "restore":
            cluster.restore(max(0, cluster.version - number))
        else:
            tell(bus, everyone, spoken(sessions[name], what, number))
    for session in everyone * 2:  # it ends well: whatever was lost is found out, and told again
        tell(bus, everyone, session.watch(len(cluster.log)))
        tell(bus, everyone, session.begin())
        tell(bus, everyone, session.end() if session.listed is not None else [])
    return bus, cluster


def spoken(session: Session, what: str, number: int) -> list[observations.Observation]:
    if what == "watch":
        return session.watch(number)
    if what == "begin" and session.listed is None:
        return session.begin()
    return session.end() if what == "end" and session.listed is not None else []


@drawn(120)
@given(st.sampled_from((JOBS, FLAVORS)), st.lists(st.one_of(writes, watches, lists), max_size=40))
def test_two_sessions_that_lag_end_at_the_truth(resource: str, steps: list[Step]) -> None:
    bus, cluster = play(resource, steps)
    assert known(bus, resource) == truth(cluster)


@drawn(120)
@given(st.sampled_from((JOBS, FLAVORS)), st.lists(st.one_of(writes, watches, lists), max_size=40))
@example(JOBS, PREDECESSOR)
@example(FLAVORS, PREDECESSOR)
def test_at_every_moment_the_newest_that_was_reported_is_known(
    resource: str, steps: list[Step]
) -> None:
    bus, cluster, listener = Bus().opened(), Cluster(), Listener()
    sessions = {name: Session(name, resource, cluster) for name in "ab"}
    for what, name, number in steps:
        if what == "write":
            cluster.write(name, number)
            continue
        for obs in spoken(sessions[name], what, number):
            bus.tell(obs)
            listener.hear(obs)
            assert known(bus, resource) == listener.knows()


@drawn(120)
@given(
    st.sampled_from((JOBS, FLAVORS)),
    st.lists(st.one_of(writes, watches, lists, restarts, losses), max_size=40),
)
def test_losses_and_restarts_end_at_the_truth(resource: str, steps: list[Step]) -> None:
    bus, cluster = play(resource, steps)
    assert known(bus, resource) == truth(cluster)


@drawn(120)
@given(
    st.sampled_from((JOBS, FLAVORS)),
    st.lists(st.one_of(writes, watches, lists), max_size=25),
    st.integers(1, 6),
    st.lists(writes, max_size=5),
)
@example(JOBS, CAUGHT_UP, 2, [("write", "x", 0)])
@example(JOBS, OUTDATED, 1, [("write", "x", 1), ("write", "x", 1)])
@example(JOBS, NAMESAKE, 3, [("write", "x", 1), ("write", "x", 1)])
@example(JOBS, UNSAID, 1, [])
@example(FLAVORS, NAMESAKE, 3, [("write", "x", 1), ("write", "x", 1)])
def test_a_restored_cluster_ends_at_the_truth(
    resource: str, before: list[Step], back: int, after: list[Step]
) -> None:
    bus, cluster = play(resource, [*before, ("restore", "a", back), *after])
    assert known(bus, resource) == truth(cluster)
