"""Plays a rule's story and compares what follows with what its file says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tests.lifecycle.stage import Fields, Stage
from tidegate.contracts import observations
from tidegate.model.podset import PodSetUpdate
from tidegate.model.policy import Policy

DATA = Path(__file__).parent / "data"


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens, and what follows from it; None: not looked at."""

    do: list[Any]
    decided: list[str] | None = None
    shown: list[str] | None = None
    told: list[str] | None = None
    starts: dict[str, Any] | None = None  # job to what its start puts into the first podset
    requeue: dict[str, list[int]] | None = None  # job to requeueState: count, seconds
    says: dict[str, str] | None = None  # job to what its QuotaReserved says


def _main() -> dict[str, Fields]:
    return {"main": {"cluster_queue": "cq"}}


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule: where it stands, and a story in which it shows."""

    rule: str
    source: str
    policy: Fields = {}
    flavors: dict[str, Fields] = msgspec.field(default_factory=lambda: {"any": {}})
    queues: dict[str, Fields] = msgspec.field(default_factory=lambda: {"cq": {}})
    locals: dict[str, Fields] = msgspec.field(default_factory=_main)
    checks: list[str] = []
    steps: list[Step]


def rules() -> dict[str, Path]:
    """Return the files by name."""
    return {path.stem: path for path in sorted(DATA.glob("*.yaml"))}


def read(path: Path) -> Rule:
    return msgspec.yaml.decode(path.read_bytes(), type=Rule)


class Player:
    """One story on its stage."""

    def __init__(self, rule: Rule) -> None:
        self.stage = stage = Stage()
        stage.open(msgspec.convert(rule.policy, Policy))
        for name in rule.checks:
            stage.turn(_check(name))
        stage.turn(
            *(stage.flavor(name, fields) for name, fields in rule.flavors.items()),
            *(stage.cluster_queue(name, dict(fields)) for name, fields in rule.queues.items()),
            *(stage.local_queue(name, fields) for name, fields in rule.locals.items()),
        )

    def play(self, step: Step) -> dict[str, Any]:
        """Do what a step says; return what followed, by the step's fields."""
        stage = self.stage
        stage.decided, stage.shown, stage.told = [], [], []
        for line in step.do:
            [(verb, value)] = line.items()
            self._do(verb, value)
        return {
            "decided": stage.decided,
            "shown": stage.shown,
            "told": stage.told,
            "starts": {name: self._start(name) for name in step.starts or ()},
            "requeue": {name: self._requeue(name) for name in step.requeue or ()},
            "says": {name: self._says(name) for name in step.says or ()},
        }

    def _do(self, verb: str, value: Any) -> None:  # noqa: ANN401 - of each verb's own shape
        stage = self.stage
        if verb == "wait":
            stage.turn(stage.wait(value))
        elif verb in ("deaf", "hears"):
            (stage.deaf.add if verb == "deaf" else stage.deaf.discard)(value)
            stage.turn()
        elif verb in ("lost", "found"):
            (stage.unshown.add if verb == "lost" else stage.unshown.discard)(value)
            stage.turn()
        else:
            stage.turn(*self._seen(verb, value))

    def _seen(  # noqa: C901, PLR0912 - an arm a verb
        self,
        verb: str,
        value: Any,  # noqa: ANN401 - of each verb's own shape
    ) -> Iterator[observations.Observation]:
        stage = self.stage
        match verb, value:
            case "submit", dict():
                yield from (
                    stage.submit(name, dict(fields or {})) for name, fields in value.items()
                )
            case "change", dict():
                yield from (stage.change(name, **fields) for name, fields in value.items())
            case "stand", dict():
                yield from (stage.stand(name, **fields) for name, fields in value.items())
            case "grow", dict():
                yield from (stage.grow(name, pods) for name, pods in value.items())
            case "activate", str():  # so soon that no watch saw it inactive
                yield stage.activate(value)
            case "finish", str():
                yield stage.change(value, finished="Succeeded", message="Done.")
            case "delete", str():
                yield stage.delete(value)
            case "queue", dict():
                yield from (stage.cluster_queue(name, dict(value)) for name, value in value.items())
            case "local", dict():
                yield from (stage.local_queue(name, value) for name, value in value.items())
            case "gone", dict():
                yield from (self._gone(kind, name) for kind, name in value.items())
            case "class", dict():
                yield from (self._class(name, value) for name, value in value.items())
            case "policy", dict():
                stage.version += 1
                yield _policy(stage.version, value)
            case "say", dict():
                yield from (self._said(name, value) for name, value in value.items())
            case _:
                raise AssertionError(f"no such thing can happen: {verb} {value}")

    def _said(self, name: str, fields: Fields) -> observations.Observation:
        """Let controllers of checks write what they say; ``stale``: as if before the reset."""
        states = {key: value for key, value in fields.items() if key != "stale"}
        checks = tuple(_state(check, states[check]) for check in sorted(states))
        stage = self.stage
        since = stage.former[name] if fields.get("stale") else stage.since(name)
        return self.stage.change(name, checks=checks, checks_since=since)

    def _gone(self, kind: str, name: str) -> observations.Observation:
        self.stage.version += 1
        prefix, plural, namespace = {
            "queue": ("cq", "clusterqueues", ""),
            "local": ("lq", "localqueues", "team"),
        }[kind]
        uid, buried = self.stage.uid(prefix, name), self.stage.buried
        buried[prefix + name] = buried.get(prefix + name, 0) + 1
        return observations.ObjectGone(
            namespace=namespace,
            name=name,
            uid=uid,
            version=self.stage.version,
            session="a",
            resource=f"{plural}.kueue.x-k8s.io",
        )

    def _class(self, name: str, value: int) -> observations.Observation:
        self.stage.version += 1
        return observations.WorkloadPriorityClassObserved(
            name=name, uid=f"class-{name}", version=self.stage.version, session="a", value=value
        )

    def _start(self, name: str) -> Fields:
        [podset, *_] = self.stage.starts[name].podsets
        document: Fields = msgspec.json.decode(msgspec.json.encode(podset))
        return {key: value for key, value in document.items() if key not in ("name", "count")}

    def _says(self, name: str) -> str:
        return self.stage.read_model.workloads[f"team/{name}"].conditions["QuotaReserved"].message

    def _requeue(self, name: str) -> list[int]:
        shown = self.stage.read_model.workloads[f"team/{name}"]
        left_us = shown.requeue_after_us - self.stage.bus.at_us
        return [shown.requeue_count, left_us // 1_000_000 if shown.requeue_after_us else 0]


def _state(check: str, obj: str | Fields) -> observations.CheckSeen:
    fields: Fields = {"state": obj} if isinstance(obj, str) else dict(obj)
    updates = tuple(
        msgspec.convert({"name": "main", **update}, PodSetUpdate)
        for update in fields.pop("updates", ())
    )
    return observations.CheckSeen(name=check, updates=updates, **fields)


def _check(name: str) -> observations.Observation:
    return observations.CheckObserved(
        name=name, uid=f"check-{name}", version=2, session="a", controller="theirs", active=True
    )


def _policy(version: int, fields: Fields) -> observations.Observation:
    policy = msgspec.convert(fields, Policy)
    return observations.PolicyObserved(
        name="p", uid="p", version=version, session="s", policy=policy
    )
