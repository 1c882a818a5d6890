"""Plan the steps for one workload's ProvisioningRequests, from the observed objects alone; pure.

It is asked again after every change and after every step, so it remembers nothing. Source:
behaviour.md 9.3.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from actuator.provisioning.conditions import (
    RequestCase,
    state_of_request,
    unconfigured_state,
    unneeded_state,
)
from actuator.provisioning.observed import ProvisioningRequest
from actuator.provisioning.podsets import MergedPodSets, merged_podsets
from actuator.provisioning.templates import RequestToCreate, attempt_of, parameters, request_name
from tidegate.jobs.kind import Object
from tidegate.kinds.kueue_api.checks import ProvisioningRequestConfigSpec


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The steps, in the order in which they are taken."""

    states: tuple[Object, ...] = ()  # of checks, where they differ from what stands there
    delete: tuple[ProvisioningRequest, ...] = ()
    make: tuple[RequestToCreate, ...] = ()
    keep: tuple[ProvisioningRequest, ...] = ()  # their templates must be owned by them


class _CheckSteps(msgspec.Struct, frozen=True):
    """What one check takes."""

    state: Object
    kept: ProvisioningRequest | None = None
    ask: RequestToCreate | None = None


def plan(
    workload: Object,
    configs: Mapping[str, ProvisioningRequestConfigSpec | None],
    requests: Sequence[ProvisioningRequest],
    spent: Collection[str] = (),
    *,
    cleans: bool = True,
) -> Plan:
    """Return the steps for a Workload as it was read.

    ``configs`` has the checks of this controller, None where a check's configuration is missing;
    ``requests`` are the Workload's own, ``spent`` the uids of those made for a reservation that is
    lost. ``cleans`` is Kueue's gate CleanupProvisioningRequestsOnEviction.
    """
    true = _true_conditions(workload)
    if "Finished" in true:
        return Plan(delete=tuple(requests))
    if "QuotaReserved" not in true or "Evicted" in true:
        return Plan(delete=tuple(requests) if cleans else ())
    usable = [request for request in requests if request.metadata.uid not in spent]
    states = workload["status"].get("admissionChecks", ())
    steps = [
        _steps_of_check(workload, state, configs[state["name"]], usable)
        for state in states
        if state["name"] in configs
    ]
    retained = tuple(step.kept for step in steps if step.kept is not None)
    retained_uids = {request.metadata.uid for request in retained}
    return Plan(
        states=tuple(step.state for step in steps if step.state not in states),
        delete=tuple(request for request in requests if request.metadata.uid not in retained_uids),
        make=tuple(step.ask for step in steps if step.ask is not None),
        keep=retained,
    )


def _steps_of_check(
    obj: Object,
    state: Object,
    config: ProvisioningRequestConfigSpec | None,
    requests: Sequence[ProvisioningRequest],
) -> _CheckSteps:
    """Return the steps for one check."""
    name, check, ready = obj["metadata"]["name"], state["name"], state["state"] == "Ready"
    numbers = {
        request.metadata.uid: attempt_of(request.metadata.name, name, check) for request in requests
    }
    numbered = [request for request in requests if numbers[request.metadata.uid]]
    podsets = () if config is None else merged_podsets(obj, config)
    if config is None or not podsets:
        retained = _newest_request(numbered, numbers) if ready else None
        if podsets is None:
            return _CheckSteps(state, _newest_request(numbered, numbers))
        return _CheckSteps(
            unconfigured_state(state) if config is None else unneeded_state(state), retained
        )
    parameters_now = parameters(obj, config)
    fitting = (
        numbered
        if ready
        else [request for request in numbered if _is_current(request, config, parameters_now)]
    )
    newest = _newest_request(fitting, numbers)
    attempt = numbers[newest.metadata.uid] if newest is not None else 0
    if newest is not None:
        state = state_of_request(state, _request_case(obj, newest, attempt), config, podsets)
    ask = None
    if state["state"] == "Pending" and (newest is None or _is_finished(newest)):
        follows = attempt + 1 if newest is not None else state.get("retryCount", 0) + 1
        ask = _request_ask(
            request_name(name, check, follows), check, config, parameters_now, podsets
        )
    return _CheckSteps(state, newest, ask)


def _request_ask(
    name: str,
    check: str,
    config: ProvisioningRequestConfigSpec,
    settings: dict[str, str],
    podsets: tuple[MergedPodSets, ...],
) -> RequestToCreate:
    return RequestToCreate(
        check=check,
        name=name,
        class_name=config.provisioning_class_name,
        parameters=settings,
        parts=podsets,
    )


def _request_case(obj: Object, request: ProvisioningRequest, attempt: int) -> RequestCase:
    return RequestCase(
        request=request,
        attempt=attempt,
        admitted="Admitted" in _true_conditions(obj),
        active=obj["spec"].get("active", True),
    )


def _newest_request(
    requests: Sequence[ProvisioningRequest], numbers: Mapping[str, int]
) -> ProvisioningRequest | None:
    return max(requests, key=lambda request: numbers[request.metadata.uid], default=None)


def _is_current(
    request: ProvisioningRequest, config: ProvisioningRequestConfigSpec, settings: dict[str, str]
) -> bool:
    """Return whether a request asks for what is asked for by now; more parameters do not count."""
    same = request.spec.provisioning_class_name == config.provisioning_class_name
    has_settings = settings.items() <= request.spec.parameters.items()
    return same and has_settings and not request.metadata.is_deleting


def _is_finished(request: ProvisioningRequest) -> bool:
    return bool(request.true_condition("Failed") or request.true_condition("BookingExpired"))


def _true_conditions(obj: Object) -> set[str]:
    conditions = obj.get("status", {}).get("conditions", ())
    return {condition["type"] for condition in conditions if condition["status"] == "True"}
