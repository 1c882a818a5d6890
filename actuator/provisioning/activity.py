"""Whether a check can be decided at all: the condition ``Active`` of its AdmissionCheck.

Reasons and messages about the configuration are Kueue's; that the cluster serves no
ProvisioningRequests gets a message of ours, for Kueue has none.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from actuator.provisioning.naming import RESOURCE
from tidegate.jobs.kind import Object
from tidegate.kinds.kueue_api.checks import AdmissionCheck, CheckParameters
from tidegate.kinds.names import GROUP

ACTIVE, KIND = "Active", "ProvisioningRequestConfig"
NOT_SERVED = f"The cluster serves no {RESOURCE}: install the CRD of the cluster autoscaler"


def lacks(parameters: CheckParameters | None, configs: Collection[str]) -> str:
    """Return what is wrong with a check's parameters; empty if its configuration is there."""
    if parameters is None:
        return "missing parameters reference"
    reference, wrong = parameters, "bad parameters reference"
    if reference.api_group != GROUP:
        return f'wrong group "{reference.api_group}", expecting "{GROUP}": {wrong}'
    if reference.kind != KIND:
        return f'wrong kind "{reference.kind}", expecting "{KIND}": {wrong}'
    if reference.name not in configs:
        return f'provisioningrequestconfigs.{GROUP} "{reference.name}" not found'
    return ""


def active(check: AdmissionCheck, configs: Collection[str], *, served: bool, at: str) -> Object:
    """Return the patch of a check's condition Active; empty if it is up to date."""
    missing = lacks(check.spec.parameters, configs)
    status, reason, message = "True", "Active", "The admission check is active"
    if not served:
        status, reason, message = "False", "NotServed", NOT_SERVED
    elif missing:
        status, reason, message = "False", "BadParametersRef", missing
    conditions = check.status.conditions
    now = next((condition for condition in conditions if condition.type == ACTIVE), None)
    if now is not None and (now.status, now.reason, now.message) == (status, reason, message):
        return {}
    same = now is not None and now.status == status
    condition = {
        "type": ACTIVE,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": check.metadata.generation,
        "lastTransitionTime": now.last_transition_time if now is not None and same else at,
    }
    others = [
        {"message": "", **msgspec.to_builtins(condition)}
        for condition in conditions
        if condition.type != ACTIVE
    ]
    return {"status": {"conditions": [*others, condition]}}
