"""A workload, three worker clusters and a dispatcher, in any order that a seed says.

The core and the dispatcher's targets are the product's. What stands here are clusters that admit,
evict, finish, are edited and are lost, a manager's job that obeys sooner or later, and users. What
happens is written in the lines of ``stage``: the script of a seed that fails is a case.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar

import msgspec

from dispatcher.targets import Target
from tests.core.multikueue.judging import Judge
from tests.core.multikueue.stage import WORKLOAD
from tests.core.multikueue.world import NAMES, World
from tidegate.core.state.state import Workload
from tidegate.model.multikueue import Dispatcher

RARELY = 0.2
DISPATCHERS: tuple[Dispatcher, ...] = ("AllAtOnce", "Incremental", "External")


class Remote(msgspec.Struct, kw_only=True):
    """A worker cluster, and what it has of the workload; times in seconds, 0: not."""

    name: str
    connected: bool = False
    there: bool = False  # a copy of the Workload
    words: dict[str, int] = {}  # how the copy stands, as ``stage`` has it
    job: bool = False  # sent from here
    foreign: bool = False  # a job of that name that others made

    def forget(self) -> None:
        """Have no copy any more."""
        self.there, self.words = False, {}


class Ordeal(World[Remote]):
    """One seed's world."""

    rounds_max, warm_up_steps = 2_000, 60
    warm_up: ClassVar = {"finish": 0}
    calm: ClassVar = {
        "act": 30,
        "collect": 1,
        "admit": 6,
        "stop": 3,
        "finish": 3,
        "obey": 6,
        "pass": 3,
        "nominate": 4,
        "connect": 4,
    }
    faults: ClassVar = {
        "finish": 1,
        "begin": 1,
        "lose": 6,
        "evict": 2,
        "spoil": 1,
        "edit": 1,
        "erase": 1,
        "erase_job": 1,
        "claim": 1,
        "toggle": 2,
        "delete": 1,
        "snapshot": 2,
        "stop_policy": 3,
    }

    def __init__(self, seed: int) -> None:
        remotes = {name: Remote(name=name) for name in NAMES}
        super().__init__(Random(seed), "batch/job", DISPATCHERS, remotes)
        self.deleted, self.active = False, True
        self.judge = Judge(self)

    @property
    def workload(self) -> Workload | None:
        """Return the workload, unless its job was deleted."""
        return self.stage.bus.state.workloads.get(WORKLOAD)

    def _submit(self) -> None:
        self._do("submit")

    def _heal(self) -> None:
        for remote in self.remotes.values():
            remote.foreign = False
        super()._heal()
        if not self.deleted and not self.active:
            self._toggle()

    # the dispatcher

    def _act(self, remote: Remote) -> None:
        """Do one pass at a connected cluster, as ``copy_reconciler`` does, and report."""
        target = self.targets.of.get(WORKLOAD)
        if target is None or not remote.connected or remote.name not in target.clusters:
            return
        leaves, known = remote.name in target.leaving, self._carry(remote, target)
        if not known:
            return
        if not remote.there:
            self._do(f"copy {remote.name} gone")
            target = self.targets.of.get(WORKLOAD)
            if target is not None and leaves:
                target.leaving.discard(remote.name)
                self.targets.forget_idle(WORKLOAD)
            return
        words = [f"{word}={at}" if at else word for word, at in remote.words.items()]
        words += ["job"] if remote.job else []
        runs = remote.name == target.chosen and "admitted" in remote.words
        words += ["foreign"] if remote.foreign and runs and not remote.job else []
        over = "finished" in remote.words or "outofsync" in remote.words or target.stopping
        synced = remote.name == target.chosen and over and not remote.foreign
        words += ["synced"] if synced else []
        self._do(" ".join(("copy", remote.name, "there", *words)))

    def _carry(self, remote: Remote, target: Target) -> bool:
        """Change what is there; return whether that can be reported already."""
        if remote.name in target.leaving:
            remote.job = False  # the job goes first
            remote.forget()
        elif remote.name == target.chosen:
            over = "finished" in remote.words or bool(target.stopping)
            if target.stopping and remote.there:
                remote.words["stopping"] = 0
            if remote.there and "admitted" in remote.words and not remote.foreign and not over:
                remote.job = True
        elif not remote.there and self.workload is not None:
            remote.there = True
            return False  # its watch reports it
        return True

    def _collect(self, remote: Remote) -> None:
        """Take what nothing here stands for any more, as ``dispatcher.collect`` does."""
        if remote.connected and WORKLOAD not in self.targets.of and self.workload is None:
            remote.job = False
            remote.forget()

    # a worker cluster

    def _admit(self, remote: Remote) -> None:
        words = remote.words
        if remote.there and not {"finished", "outofsync", "stopping"} & words.keys():
            words.pop("evicted", None)
            words["reserved"] = 0
            if self.random.random() < 0.7:
                words.setdefault("admitted", self._now_s())

    def _evict(self, remote: Remote) -> None:
        words = remote.words
        if "reserved" in words and not {"finished", "outofsync"} & words.keys():
            for word in ("reserved", "admitted"):
                words.pop(word, None)
            words["evicted"] = self._now_s()

    def _stop(self, remote: Remote) -> None:
        """Let a worker stop what its manager deactivated."""
        if "stopping" in remote.words:
            self._evict(remote)

    def _finish(self, remote: Remote) -> None:
        if remote.job and "admitted" in remote.words and "outofsync" not in remote.words:
            remote.words.setdefault("finished", self._now_s())

    def _spoil(self, remote: Remote) -> None:
        if remote.job and "finished" not in remote.words:
            remote.words["outofsync"] = self._now_s()

    def _edit(self, remote: Remote) -> None:
        if remote.there:
            remote.words["differs"] = 0

    def _erase(self, remote: Remote) -> None:
        remote.forget()

    def _erase_job(self, remote: Remote) -> None:
        remote.job = False

    def _claim(self, remote: Remote) -> None:
        """Let others make a job of that name there."""
        remote.foreign = remote.foreign or not remote.job

    # the manager's cluster

    def _obey(self, _: Remote | None = None) -> None:
        """Carry out what was last ordered for the job."""
        workload = self.workload
        if workload is not None and workload.order is not None:
            self._do("started" if workload.order.kind == "start" else "stopped")

    def _toggle(self, _: Remote | None = None) -> None:
        if not self.deleted:
            self.active = not self.active
            self._do("activate" if self.active else "deactivate")

    def _delete(self, _: Remote) -> None:
        if not self.deleted and self.random.random() < RARELY:
            self.deleted = True
            self._do("delete")

    def _nominate(self, _: Remote) -> None:
        """Let an external dispatcher write, whether it is heard or not."""
        if self.workload is not None and not self.deleted:
            names = self.random.sample(list(self.remotes), self.random.randint(1, 3))
            self._do(" ".join(("propose", *names)))
