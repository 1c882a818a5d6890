"""Tenants who edit what they may: sizes of Jobs that run, requests of Jobs that wait, and lies.

In some worlds only, with a queue and a generator of their own. What they write into annotations is
too long, of the wrong kind, or says that Tidegate had decided what it did not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from tests.simulation.actors.people import finished
from tests.simulation.cluster import HOSTILE, JOBS, Cluster, Object, job
from tests.simulation.judging.ledger_watch import LedgerWatch
from tests.simulation.judging.observer import DECISION

TEAM, QUOTA_MILLI = "team-x", 2_000
_COMPLETIONS, _SIZE_MAX, _JOBS_MAX = 6, 3, 5
_SEEDS, _EVERY = (2, 7), 10
_DIGITS = "9" * 5_000
_HOSTILE: tuple[dict[str, str], ...] = (
    {"kueue.x-k8s.io/podset-slice-size": _DIGITS},
    {"kueue.x-k8s.io/podset-required-topology": "x" * 300},
    {"tidegate.dev/injected": "{" * 200},
    {"tidegate.dev/injected": "[]"},
    {"kueue.x-k8s.io/elastic-job": "true"},
    {"kueue.x-k8s.io/job-min-parallelism": f"-{_DIGITS}"},
    {"tidegate.dev/group-uid": "\\u202e"},
)


def edits(seed: int) -> bool:
    """Tell whether tenants edit their Jobs in the world of a seed."""
    return seed % _EVERY in _SEEDS


class Editors:
    """Tenants who edit Jobs of one namespace."""

    def __init__(self, cluster: Cluster, seed: int, ledger: Callable[[], LedgerWatch]) -> None:
        self._cluster, self._random = cluster, Random(f"editors {seed}")
        self._ledger = ledger
        self._left = _JOBS_MAX if edits(seed) else 0
        self._names = list[str]()
        if self._left:
            cluster.furnish(TEAM, QUOTA_MILLI)

    async def work(self) -> None:
        """Submit a few Jobs, and edit them until all is over."""
        while self._left or self._names:
            await asyncio.sleep(self._random.uniform(1, 7))
            if self._left and self._random.random() < 0.4:
                self._submit()
            elif self._names:
                self._edit(self._random.choice(self._names))

    def settle(self) -> None:
        """Take away what is there: some of it could never run."""
        self._left = 0
        for name in self._names:
            gone = {"propagationPolicy": "Background"}
            self._cluster.act("user", "DELETE", f"{JOBS.format(TEAM)}/{name}", gone)
        self._names.clear()

    def _submit(self) -> None:
        random, name = self._random, f"edited-{self._left}"
        self._left -= 1
        made = job(name, pods=1, cpu_milli=400, seconds=random.uniform(3, 12), priority="low")
        made["spec"] |= {"completions": _COMPLETIONS, "parallelism": random.randint(1, _SIZE_MAX)}
        self._cluster.submit(TEAM, made)
        self._names.append(name)

    def _edit(self, name: str) -> None:
        fields = self._cluster.api.registry.state.get("jobs.batch", TEAM, name)
        if fields is None or finished(fields):
            self._names.remove(name)
            return
        chosen = self._random.random()
        if chosen < 0.35:
            self._patch(name, {"spec": {"parallelism": self._random.randint(1, _SIZE_MAX)}})
            later_s = self._random.uniform(0.05, 2)
            asyncio.get_running_loop().call_later(later_s, self._mimic, name)
        elif chosen < 0.5:
            self._patch(name, {"spec": {"template": {"spec": self._podspec(fields)}}})
        elif chosen < 0.8:
            self._forge(name)
        else:
            annotations = {**self._random.choice(_HOSTILE), HOSTILE: "true"}
            self._patch(name, {"metadata": {"annotations": annotations}})
            self._patch(name, {"spec": {"suspend": False}})

    def _podspec(self, obj: Object) -> Object:
        (container,) = obj["spec"]["template"]["spec"]["containers"]
        requests = {"cpu": f"{self._random.choice([300, 500, 700])}m"}
        return {"containers": [{**container, "resources": {"requests": requests}}]}

    def _forge(self, name: str) -> None:
        """Say that a decision had started a Job, and start it."""
        number = self._random.choice([str(self._random.randint(1, 400)), "10000000", _DIGITS])
        decision = f"{self._random.choice(['ledger1', 'ledger2', 'another'])}/{number}"
        lie: Object = {"metadata": {"annotations": {DECISION: decision}}}
        self._patch(name, {**lie, "spec": {"suspend": False}})

    def _mimic(self, name: str) -> None:
        """Say that another ledger had stopped a Job, by the number that ours has for that."""
        obj = self._cluster.api.registry.state.get("jobs.batch", TEAM, name)
        uid = "" if obj is None else obj["metadata"]["uid"]
        seqs = [seq for seq, order in self._ledger().orders.items() if order.job.uid == uid]
        if seqs and name in self._names:
            lie: Object = {"metadata": {"annotations": {DECISION: f"another/{max(seqs)}"}}}
            self._patch(name, {**lie, "spec": {"suspend": True}})

    def _patch(self, name: str, change: Object) -> None:
        self._cluster.act("user", "PATCH", f"{JOBS.format(TEAM)}/{name}", change)
