"""What the doctor says of pods that are not ready: of a standby, that it could not take over."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tidegate.cli.doctor.services import examine_services
from tidegate.cli.objects.api_client import ApiClient
from tidegate.errors import ApiStatusError

Object = dict[str, Any]
NAME = {"app.kubernetes.io/name": "tidegate-scheduler"}


class Served:
    """An API server with one Deployment and some pods; None: listing pods is forbidden."""

    def __init__(self, ready: int, pods: list[Object] | None) -> None:
        self._ready, self._pods = ready, pods

    def list_all(self, path: str, _selector: str) -> list[Object]:
        if path.endswith("/pods"):
            if self._pods is None:
                raise ApiStatusError(403, "pods is forbidden")
            return self._pods
        spec = {"replicas": 2, "selector": {"matchLabels": NAME}}
        meta = {"namespace": "tidegate-system", "name": "tidegate-scheduler"}
        return [{"metadata": meta, "spec": spec, "status": {"readyReplicas": self._ready}}]


def pod(state: Object, *, last: Object | None = None, init: bool = False) -> Object:
    key = "initContainerStatuses" if init else "containerStatuses"
    status = {key: [{"name": "c", "state": state, "lastState": last or {}}]}
    return {"metadata": {"name": "tidegate-scheduler-x"}, "status": status}


def waiting(reason: str, message: str = "") -> Object:
    return {"waiting": {"reason": reason, "message": message}}


RUNS = pod({"running": {}})
UNSCHEDULABLE: Object = {
    "metadata": {"name": "tidegate-scheduler-x"},
    "status": {
        "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes fit"}]
    },
}
LOGS = "kubectl -n tidegate-system logs tidegate-scheduler-x --all-containers --previous"
CASES = [
    (
        pod(waiting("CreateContainerConfigError", 'secret "tidegate-scheduler" not found')),
        'CreateContainerConfigError: secret "tidegate-scheduler" not found',
        "create the Secret or ConfigMap that the message names, with that key",
    ),
    (
        pod(waiting("CrashLoopBackOff", "back-off"), last={"terminated": {"reason": "OOMKilled"}}),
        "OOMKilled: container c",
        "raise the container's memory limit",
    ),
    (pod(waiting("CrashLoopBackOff", "back-off"), init=True), "CrashLoopBackOff: back-off", LOGS),
    (
        UNSCHEDULABLE,
        "Unschedulable: 0/3 nodes fit",
        "add nodes, or correct nodeSelector, tolerations and affinity",
    ),
]


@pytest.mark.parametrize(("bad", "why", "to_do"), CASES)
def test_a_standby_that_can_never_lead_is_named_with_its_reason(
    bad: Object, why: str, to_do: str
) -> None:
    (finding,) = examine_services(cast(ApiClient, Served(1, [RUNS, bad])))
    assert (finding.code, finding.ok, finding.to_do) == ("StandbyNotReady", False, to_do)
    assert "1 of 2 ready, so no pod can take over" in finding.text
    assert finding.text.endswith(why)


def test_what_may_not_be_listed_leaves_the_advice_to_read_the_log() -> None:
    (finding,) = examine_services(cast(ApiClient, Served(0, None)))
    assert finding.code == "ServiceNotReady"
    assert finding.to_do == "kubectl -n tidegate-system logs deploy/tidegate-scheduler"


def test_a_service_with_all_replicas_ready_is_fine() -> None:
    (finding,) = examine_services(cast(ApiClient, Served(2, [])))
    assert (finding.code, finding.ok) == ("ServiceReady", True)
