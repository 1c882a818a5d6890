"""Several workloads of one object among three clusters: slices of an elastic job, groups of a set.

As ``ordeal``, whose world has one workload: the core and the dispatcher's targets are the
product's. A cluster has a copy of each workload, and one object for all of them. What happens is
written in the lines of ``stage``.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar

from dispatcher.targets import Target
from tests.core.multikueue.crowd_judge import CrowdJudge
from tests.core.multikueue.crowd_remote import OVER, Remote, suffix
from tests.core.multikueue.stage import LWS
from tests.core.multikueue.world import NAMES, World
from tidegate.core.state.state import Workload

GROUPS = 3


class Crowd(World[Remote]):
    """One seed's world: of an elastic job, or of a LeaderWorkerSet."""

    rounds_max, warm_up_steps = 3_000, 100
    warm_up: ClassVar = {"finish": 0, "size": 4}
    calm: ClassVar = {
        "act": 40,
        "collect": 1,
        "admit": 8,
        "stop": 4,
        "finish": 3,
        "obey": 6,
        "pass": 3,
        "connect": 4,
    }
    faults: ClassVar = {
        "finish": 1,
        "begin": 1,
        "lose": 4,
        "evict": 2,
        "spoil": 1,
        "erase": 1,
        "erase_job": 1,
        "toggle": 2,
        "delete": 1,
        "snapshot": 2,
        "stop_policy": 3,
        "size": 6,
    }

    def __init__(self, seed: int) -> None:
        self.elastic = bool(seed % 2)
        remotes = {name: Remote(name=name, elastic=self.elastic) for name in NAMES}
        kind = "batch/job" if self.elastic else LWS
        super().__init__(Random(seed), kind, ("AllAtOnce", "Incremental"), remotes)
        self.deleted, self.inactive = set[str](), set[str]()
        self.judge = CrowdJudge(self)

    @property
    def workloads(self) -> dict[str, Workload]:
        """Return the workloads that there are, by key."""
        return self.stage.bus.state.workloads

    def _submit(self) -> None:
        self._do("submit elastic" if self.elastic else f"submit {LWS} {GROUPS}")

    def _heal(self) -> None:
        super()._heal()
        for part in sorted(self.inactive - self.deleted):
            self._do(f"{part}activate")
        self.inactive.clear()
        for part in [] if self.elastic else sorted(self._parts()):
            self._remove(part)

    def _parts(self) -> set[str]:
        """Return what begins a line about each job that is there: its number, if it has one."""
        parts = {""} if self.elastic else {f"{index} " for index in range(GROUPS)}
        return parts - self.deleted

    # the dispatcher

    def _act(self, remote: Remote) -> None:
        """Do one pass at a cluster, as ``dispatcher.copy_reconciler`` does, and report."""
        there = [key for key, target in self.targets.of.items() if remote.name in target.clusters]
        if not there or not remote.connected:
            return
        key = self.random.choice(there)
        target = self.targets.target_at(key, remote.name)
        assert target is not None, "it was among them"
        leaves = remote.name in target.leaving
        words = self._carry(remote, key, target, leaves=leaves)
        if words is None:
            return
        self._do(self._line(remote, key, words))
        kept = self.targets.of.get(key)
        if leaves and words == ["gone"] and kept is not None:
            kept.leaving.discard(remote.name)
            self.targets.forget_idle(key)

    def _line(self, remote: Remote, key: str, words: list[str]) -> str:
        if self.elastic:
            return " ".join(("copy", remote.name, *filter(None, [suffix(key)]), *words))
        return " ".join((key.rpartition("-")[2], "copy", remote.name, *words))

    def _carry(self, remote: Remote, key: str, target: Target, *, leaves: bool) -> list[str] | None:
        """Change what is there; return how the copy stands; None: that is not reported yet."""
        if leaves:
            if not target.superseded and not self.targets.is_shared(key, remote.name):
                remote.forget()
            remote.copies.pop(key, None)
            return ["gone"]
        words = remote.copies.get(key)
        chosen = remote.name == target.chosen
        if words is None:
            makes = not chosen or (target.makes_copy and not target.superseded)
            if makes and key in self.workloads:
                remote.copies[key] = {}
                return None
            return None if makes or target.makes_copy else ["gone"]
        if chosen and target.stopping:
            words["stopping"] = 0
        return ["there", *_said(words), *(self._run(remote, key, target) if chosen else [])]

    def _run(self, remote: Remote, key: str, target: Target) -> list[str]:
        words = remote.copies[key]
        over = bool(OVER & words.keys()) or bool(target.stopping)
        if target.superseded or not (over or "admitted" in words):
            return []
        if not over:
            remote.job, remote.runs = True, key
        return (["job"] if remote.job else []) + (["synced"] if over else [])

    def _collect(self, remote: Remote) -> None:
        """Take what nothing here stands for any more, as ``dispatcher.collect`` does."""
        if not remote.connected:
            return
        for key in [key for key in remote.copies if not self._is_wanted(key)]:
            if self.elastic and not (remote.runs != key and self._is_wanted(remote.runs)):
                remote.forget()
            del remote.copies[key]
        if remote.job and not any(map(self._is_wanted, [*self.workloads, *self.targets.of])):
            remote.forget()

    def _is_wanted(self, key: str) -> bool:
        return key in self.targets.of or key in self.workloads

    # a worker cluster

    def _admit(self, remote: Remote) -> None:
        remote.admit(self.random, self._now_s())

    def _evict(self, remote: Remote) -> None:
        remote.evict(self.random, self._now_s(), having="reserved")

    def _stop(self, remote: Remote) -> None:
        """Let a worker stop what its manager deactivated."""
        remote.evict(self.random, self._now_s(), having="stopping")

    def _finish(self, remote: Remote) -> None:
        remote.end("finished", self._now_s())

    def _spoil(self, remote: Remote) -> None:
        remote.end("outofsync", self._now_s())

    def _erase(self, remote: Remote) -> None:
        if remote.copies:
            del remote.copies[self.random.choice(list(remote.copies))]

    def _erase_job(self, remote: Remote) -> None:
        remote.forget()

    # the manager's cluster

    def _obey(self, _: Remote) -> None:
        """Carry out what was last ordered for a job."""
        for part in sorted(self._parts()):
            workload = self._standing(part)
            if workload is not None and workload.order is not None:
                self._do(f"{part}{'started' if workload.order.kind == 'start' else 'stopped'}")

    def _standing(self, part: str) -> Workload | None:
        state = self.stage.bus.state
        job = self.stage.job if self.elastic else self.stage.jobs[int(part)]
        return state.workloads.get(state.by_uid.get(job.uid, ""))

    def _size(self, _: Remote) -> None:
        workload = self._standing("") if self.elastic and not self.deleted else None
        if workload is not None and workload.phase != "finished":
            self._do(f"size {self.random.randint(1, 4)}")

    def _toggle(self, _: Remote) -> None:
        for part in self.random.sample(sorted(self._parts()), min(1, len(self._parts()))):
            self._do(f"{part}{'activate' if part in self.inactive else 'deactivate'}")
            self.inactive ^= {part}

    def _delete(self, _: Remote) -> None:
        parts = sorted(self._parts())
        if parts and self.random.random() < 0.05:
            self._remove(self.random.choice(parts))

    def _remove(self, part: str) -> None:
        self._do(f"{part}delete")
        self.deleted.add(part)


def _said(words: dict[str, int]) -> list[str]:
    return [f"{word}={at}" if at else word for word, at in words.items()]
