"""The kubelets: a bound pod runs for the time that its annotation says, and ends as it says.

``simulate/seconds`` (default 2) and ``simulate/exit-code`` (default 0). A pod that is deleted while
it runs ends with 143. A pod ends when its containers do, whatever its restart policy.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec

from tidegate.cluster.embedded.controllers.job_pods import is_finished
from tidegate.cluster.embedded.metadata import timestamp
from tidegate.cluster.embedded.registry import Registry
from tidegate.cluster.embedded.resources import PODS

Object = dict[str, Any]
SECONDS, EXIT_CODE, SECONDS_DEFAULT = "simulate/seconds", "simulate/exit-code", "2"
KILLED = 143  # 128 + SIGTERM
_RUN_MAX_S = Decimal(10_000_000)
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,6})?")


class Kubelets:
    """Every kubelet at once: what they remember is when each pod began."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._began_us = dict[str, int]()  # by uid

    def sync(self, namespace: str, name: str) -> int | None:
        """Do what a pod needs now; return when to look again, in UTC microseconds, or None."""
        pod = self._registry.state.get(PODS.key, namespace, name)
        if pod is None or not pod["spec"].get("nodeName"):
            return None
        ending = "deletionTimestamp" in pod["metadata"]
        now_us, uid = self._registry.now_us(), pod["metadata"]["uid"]
        if is_finished(pod) or (ending and pod["status"]["phase"] == "Pending"):
            self._began_us.pop(uid, None)
            if ending:
                self._let_go(pod)
            return None
        began_us = self._began_us.setdefault(uid, now_us)
        ends_us = began_us + run_us_of(pod)
        if ending or now_us >= ends_us:
            self._end(pod, began_us, KILLED if ending else exit_code_of(pod))
            return None
        if pod["status"]["phase"] == "Pending":
            self._write(pod, "Running", {"running": {"startedAt": timestamp(began_us)}})
        return ends_us

    def _end(self, pod: Object, began_us: int, exit_code: int) -> None:
        ended = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}
        ended |= {"startedAt": timestamp(began_us), "finishedAt": self._registry.now()}
        self._write(pod, "Failed" if exit_code else "Succeeded", {"terminated": ended})

    def _write(self, pod: Object, phase: str, state: Object) -> None:
        new: Object = msgspec.json.decode(self._registry.state.body(pod))
        new["status"] |= pod_status(new, phase, state, self._registry.now())
        self._registry.store(PODS, new)

    def _let_go(self, pod: Object) -> None:
        new: Object = msgspec.json.decode(self._registry.state.body(pod))
        new["metadata"]["deletionGracePeriodSeconds"] = 0
        if new != pod or not new["metadata"].get("finalizers"):
            self._registry.settle(PODS, new)


def run_us_of(pod: Object) -> int:
    """Return how long a pod runs, in microseconds; what cannot be read is the default."""
    text = _annotation(pod, SECONDS, SECONDS_DEFAULT)
    seconds = Decimal(text if _SECONDS.fullmatch(text) else SECONDS_DEFAULT)
    return int(min(seconds, _RUN_MAX_S) * 1_000_000)


def exit_code_of(pod: Object) -> int:
    """Return with what a pod ends by itself; what cannot be read is 0."""
    text = _annotation(pod, EXIT_CODE, "0")
    return int(text) if text.isdecimal() else 0


def pod_status(pod: Object, phase: str, state: Object, now: str) -> Object:
    """Return the fields of a pod's status that tell a phase and its containers' state."""
    ready = phase == "Running"
    known = {told["type"]: told for told in pod["status"].get("conditions") or ()}
    for kind in ("Ready", "ContainersReady"):
        known[kind] = {"type": kind, "status": str(ready), "lastTransitionTime": now}
    containers = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": ready,
            "restartCount": 0,
            "state": state,
        }
        for container in pod["spec"]["containers"]
    ]
    status = {"phase": phase, "conditions": list(known.values()), "containerStatuses": containers}
    return status if "startTime" in pod["status"] else status | {"startTime": now}


def _annotation(pod: Object, name: str, default: str) -> str:
    text: str = (pod["metadata"].get("annotations") or {}).get(name, default)
    return text
