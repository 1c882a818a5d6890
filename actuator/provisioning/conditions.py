"""A check's state by its ProvisioningRequest's conditions, and its own condition ``Active``."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from actuator.provisioning.observed import ProvisioningRequest
from actuator.provisioning.podsets import MergedPodSets
from actuator.provisioning.templates import CLASS_NAME, CONSUMES, RESOURCE, template_name
from tidegate.jobs.kind import Object
from tidegate.kinds.kueue_api.checks import (
    AdmissionCheck,
    CheckParameters,
    ProvisioningRequestConfigSpec,
    RetryStrategy,
)
from tidegate.kinds.meta import Condition
from tidegate.kinds.names import GROUP
from tidegate.model.texts import INT32_MAX

ACTIVE, KIND = "Active", "ProvisioningRequestConfig"
NOT_SERVED = f"The cluster serves no {RESOURCE}: install the CRD of the cluster autoscaler"
INACTIVE = "the check is not active"
NOT_NEEDED = "the provisioning request is not needed"
MESSAGE_MAX = 32_768
_DOUBLINGS_MAX = 31
"""Beyond that every wait is the longest there may be."""


def parameter_problem(parameters: CheckParameters | None, configs: Collection[str]) -> str:
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


def active_patch(
    check: AdmissionCheck, configs: Collection[str], *, served: bool, at: str
) -> Object:
    """Return the patch of a check's condition Active; empty if it is up to date."""
    missing = parameter_problem(check.spec.parameters, configs)
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


class RequestCase(msgspec.Struct, frozen=True, kw_only=True):
    """A workload's newest request for a check, and how the workload stands."""

    request: ProvisioningRequest
    attempt: int
    admitted: bool
    active: bool  # spec.active is not false


def unconfigured_state(state: Object) -> Object:
    """Return the state of a check without configuration."""
    ready = state["state"] == "Ready"
    return state if ready else {**state, "state": "Pending", "message": INACTIVE}


def unneeded_state(state: Object) -> Object:
    """Return the state of a check that no podset of the workload is about."""
    if state["state"] == "Ready":
        return state
    kept_fields = {key: value for key, value in state.items() if key != "podSetUpdates"}
    return {**kept_fields, "state": "Ready", "message": NOT_NEEDED}


def state_of_request(
    state: Object,
    case: RequestCase,
    config: ProvisioningRequestConfigSpec,
    made_of: tuple[MergedPodSets, ...],
) -> Object:
    """Return the state that a request gives its check."""
    request, ready = case.request, state["state"] == "Ready"
    if failed := request.true_condition("Failed"):
        return _retry_state(state, case.attempt, config.retry_strategy, "failure", failed)
    if revoked := request.true_condition("CapacityRevoked"):
        return _rejected_state(state, revoked) if case.active else state
    if expired := request.true_condition("BookingExpired"):
        if case.admitted:
            return state
        return _retry_state(state, case.attempt, config.retry_strategy, "booking expired", expired)
    if ready or state["state"] == "Rejected":
        return state
    return _pending_state(state, request, config, made_of)


def _pending_state(
    state: Object,
    request: ProvisioningRequest,
    config: ProvisioningRequestConfigSpec,
    made_of: tuple[MergedPodSets, ...],
) -> Object:
    """Return the state of a check whose request is on its way, or came to its end."""
    if provisioned := request.true_condition("Provisioned"):
        updates = _podset_updates(request, config, made_of)
        message = _message_of(provisioned.message)
        return {**state, "state": "Ready", "message": message, "podSetUpdates": updates}
    if request.true_condition("Accepted"):
        arrival = request.condition("Provisioned")  # has the expected time
        message = state.get("message", "") if arrival is None else _message_of(arrival.message)
        return {**state, "state": "Pending", "message": message}
    return {**state, "state": "Pending", "message": ""}


def _retry_state(
    state: Object, attempt: int, strategy: RetryStrategy, after: str, why: Condition
) -> Object:
    """Return the state after an attempt that came to nothing: another one, or no more."""
    if attempt > strategy.backoff_limit_count:
        return _rejected_state(state, why)
    retried = {**state, "message": _message_of(f"Retrying after {after}: {why.message}")}
    retries = state.get("retryCount", 0)
    if attempt <= retries:
        return retried  # that attempt was answered before: the next one follows it
    return {**retried, "state": "Retry", "requeueAfterSeconds": _wait_s(strategy, retries + 1)}


def _rejected_state(state: Object, why: Condition) -> Object:
    return {**state, "state": "Rejected", "message": _message_of(why.message)}


def _wait_s(strategy: RetryStrategy, attempt: int) -> int:
    """Return the wait after the n-th attempt; without jitter, so that a replay is the same."""
    most_s = strategy.backoff_max_seconds or INT32_MAX  # 0: as long as it becomes
    if attempt > _DOUBLINGS_MAX:
        return most_s
    return int(min(strategy.backoff_base_seconds * 2 ** (attempt - 1), most_s))


def _podset_updates(
    request: ProvisioningRequest,
    config: ProvisioningRequestConfigSpec,
    made_of: tuple[MergedPodSets, ...],
) -> list[Object]:
    """Return what the pods are given, so that they use the nodes that were made for them."""
    marks = {
        CONSUMES: request.metadata.name,
        CLASS_NAME: request.spec.provisioning_class_name,
    }
    details = request.status.provisioning_class_details
    updates = config.pod_set_updates.node_selector if config.pod_set_updates else ()
    selector = {
        update.key: details[update.value_from_provisioning_class_detail]
        for update in updates
        if update.value_from_provisioning_class_detail in details
    }
    more: Object = {"nodeSelector": selector} if selector else {}
    templates = {podset.pod_template_ref.name for podset in request.spec.pod_sets}
    covered = [
        part for part in made_of if template_name(request.metadata.name, part.names[0]) in templates
    ]
    return [{"name": name, "annotations": marks, **more} for part in covered for name in part.names]


def _message_of(message: str) -> str:
    return message[:MESSAGE_MAX]
