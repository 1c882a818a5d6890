"""The kubelets: a bound pod runs as long as ``tidegate.cluster.pod_lifetimes`` says, and ends."""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver.resources import PODS
from apiserver.writes.registry import Registry
from tidegate.cluster.pod_lifetimes import (
    KILLED,
    ended_status,
    exit_code_of,
    is_finished,
    run_us_of,
    running_status,
)
from tidegate.kinds.times import rfc3339

Object = dict[str, Any]


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
                self._complete_deletion(pod)
            return None
        began_us = self._began_us.setdefault(uid, now_us)
        ends_us = began_us + run_us_of(pod)
        began = rfc3339(began_us)
        if ending or now_us >= ends_us:
            code = KILLED if ending else exit_code_of(pod)
            self._write_status(pod, ended_status(pod, code, began, self._registry.now()))
            return None
        if pod["status"]["phase"] == "Pending":
            self._write_status(pod, running_status(pod, began))
        return ends_us

    def _write_status(self, pod: Object, status: Object) -> None:
        new: Object = msgspec.json.decode(self._registry.state.body(pod))
        new["status"] |= status
        self._registry.store(PODS, new)

    def _complete_deletion(self, pod: Object) -> None:
        new: Object = msgspec.json.decode(self._registry.state.body(pod))
        new["metadata"]["deletionGracePeriodSeconds"] = 0
        if new != pod or not new["metadata"].get("finalizers"):
            self._registry.store_or_remove(PODS, new)
