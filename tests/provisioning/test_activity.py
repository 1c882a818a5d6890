"""When an AdmissionCheck of this controller is active, and what is said if it is not."""

from __future__ import annotations

import pytest

from actuator.provisioning.conditions import active_patch
from tests.provisioning.standing import AT, Object
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.checks import AdmissionCheck

GOOD = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "nodes"}
LATER = "2026-03-02T08:00:00Z"


def check(parameters: Object | None, *conditions: Object) -> AdmissionCheck:
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    meta = {"name": "c", "uid": "u", "resourceVersion": "1", "generation": 4}
    status = {"conditions": list(conditions)}
    return read({"metadata": meta, "spec": spec, "status": status}, AdmissionCheck)


def condition(status: str, reason: str, message: str) -> Object:
    condition = {"type": "Active", "status": status, "reason": reason, "message": message}
    return {**condition, "observedGeneration": 4, "lastTransitionTime": AT}


def said(admission_check: AdmissionCheck, *, served: bool = True, at: str = AT) -> Object:
    """Return the condition that is written."""
    patch = active_patch(admission_check, {"nodes"}, served=served, at=at)
    written: Object = patch["status"]["conditions"][-1]
    return written


ACTIVE = condition("True", "Active", "The admission check is active")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (None, "missing parameters reference"),
        ({**GOOD, "apiGroup": "x"}, 'wrong group "x", expecting "kueue.x-k8s.io"'),
        ({**GOOD, "kind": "X"}, 'wrong kind "X", expecting "ProvisioningRequestConfig"'),
        ({**GOOD, "name": "x"}, 'provisioningrequestconfigs.kueue.x-k8s.io "x" not found'),
    ],
)
def test_a_check_without_its_configuration_is_not_active(
    parameters: Object | None, message: str
) -> None:
    written = said(check(parameters))
    assert (written["status"], written["reason"]) == ("False", "BadParametersRef")
    assert written["message"].startswith(message)


def test_a_check_with_its_configuration_is_active_once_requests_are_served() -> None:
    assert said(check(GOOD)) == ACTIVE
    written = said(check(GOOD), served=False)
    assert (written["status"], written["reason"]) == ("False", "NotServed")
    assert "install the CRD" in written["message"]


def test_what_is_said_already_is_not_written_again() -> None:
    assert active_patch(check(GOOD, ACTIVE), {"nodes"}, served=True, at=LATER) == {}


def test_others_conditions_stay_and_a_change_is_dated() -> None:
    other = {**condition("True", "Mine", ""), "type": "Other"}
    patch = active_patch(check(GOOD, other, ACTIVE), set(), served=True, at=LATER)
    kept, written = patch["status"]["conditions"]
    assert kept == other
    assert (written["status"], written["lastTransitionTime"]) == ("False", LATER)
