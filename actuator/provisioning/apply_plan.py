"""A plan carried out: each step is one request, and whatever fails is planned anew."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from actuator.calls import Calls, is_temporary, with_preconditions
from actuator.projection.k8s_events import event_about
from actuator.provisioning.conditions import MESSAGE_MAX
from actuator.provisioning.observed import ProvisioningRequest
from actuator.provisioning.plan import Plan
from actuator.provisioning.templates import (
    REQUESTS,
    RequestToCreate,
    request_object,
    request_owner_references,
    template_name,
    template_object,
)
from actuator.writing.write import KUEUE
from tidegate.errors import ApiStatusError, NotSupportedError
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.flavors import ResourceFlavor, ResourceFlavorSpec
from tidegate.kinds.times import rfc3339
from tidegate.service.logs import get_log

_log = get_log("provisioning")
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class PlanExecutor:
    """Takes a plan's steps on one API server; errors as in ``Calls.patch``."""

    calls: Calls
    now_us: Callable[[], int]
    made: dict[str, ProvisioningRequest] = field(default_factory=dict)  # by uid, unseen as yet
    gone: set[str] = field(default_factory=set)  # uids of requests that were deleted
    handed: set[str] = field(default_factory=set)  # uids of those that have their templates

    async def execute(self, workload: Object, steps: Plan) -> None:
        """Do what is planned for a Workload as it was read.

        Raises:
            NotSupportedError: a request cannot be made of the Workload and its flavors.
        """
        workload = await self._patch_check_states(workload, steps.states)
        for request in steps.delete:
            options: Object = {"preconditions": {"uid": request.metadata.uid}}
            await self.calls.delete(
                _path(request.metadata.namespace, request.metadata.name), options
            )
            self.gone.add(request.metadata.uid)
        for ask in steps.make:
            await self._create_request(workload, ask)
        for request in steps.keep:
            await self._own_templates(request)

    async def _patch_check_states(self, workload: Object, states: tuple[Object, ...]) -> Object:
        """Write the states of checks; return the Workload as it is then."""
        if not states:
            return workload
        by_name = {state["name"]: state for state in states}
        before: list[Object] = workload["status"]["admissionChecks"]
        after = list[Object]()
        for old in before:
            new = by_name.get(old["name"], old)
            moved = new["state"] != old["state"]
            after.append({**new, "lastTransitionTime": self._now()} if moved else new)
        body = with_preconditions({"status": {"admissionChecks": after}}, workload)
        path = _workload_key(workload)
        written = await self.calls.patch(f"{path}/status", body)
        for old, new in zip(before, after, strict=True):
            if old["state"] != new["state"]:
                await self._create_event(
                    workload, "Normal", "AdmissionCheckUpdated", _state_change(old, new)
                )
        return written

    async def _create_request(self, obj: Object, ask: RequestToCreate) -> None:
        """Make a request behind its templates, and hand them over to it."""
        about = f'ProvisioningRequest "{ask.name}"'
        try:
            for part in ask.parts:
                about = f'PodTemplate "{template_name(ask.name, part.names[0])}"'
                flavors = [await self._flavor(name) for name in part.flavors]
                await self._create_template(template_object(obj, ask, part, flavors))
            about = f'ProvisioningRequest "{ask.name}"'
            path = _path(obj["metadata"]["namespace"])
            created = await self.calls.create(path, request_object(obj, ask))
        except (ApiStatusError, NotSupportedError) as error:
            await self._report_refusal(obj, ask, f"Error creating {about}: {error}", error)
            raise
        message = f'Created ProvisioningRequest: "{ask.name}"'
        await self._create_event(obj, "Normal", "ProvisioningRequestCreated", message)
        _log.info("asked for nodes", request=ask.name, check=ask.check)
        request = read(created, ProvisioningRequest)
        self.made[request.metadata.uid] = request
        await self._own_templates(request)

    async def _report_refusal(
        self,
        workload: Object,
        ask: RequestToCreate,
        message: str,
        error: ApiStatusError | NotSupportedError,
    ) -> None:
        """Show on the check why its request cannot be made, unless that may pass by itself."""
        if isinstance(error, ApiStatusError) and (
            is_temporary(error) or error.status == HTTPStatus.CONFLICT
        ):
            return
        await self._create_event(workload, "Warning", "FailedCreate", message)
        states = [
            state for state in workload["status"]["admissionChecks"] if state["name"] == ask.check
        ]
        updated = tuple({**state, "message": message[:MESSAGE_MAX]} for state in states)
        await self._patch_check_states(
            workload, tuple(state for state in updated if state not in states)
        )

    async def _flavor(self, name: str) -> ResourceFlavorSpec:
        flavor = await self.calls.read(f"{KUEUE}/resourceflavors/{name}")
        if flavor is None:
            raise NotSupportedError(f'resourceflavors.{names.GROUP} "{name}" not found')
        return read(flavor, ResourceFlavor).spec

    async def _create_template(self, template: Object) -> None:
        """Make a template; one of ours that an earlier attempt left in its place gives way."""
        path = _templates_path(template["metadata"]["namespace"])
        try:
            await self.calls.create(path, template)
        except ApiStatusError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            await self._delete(f"{path}/{template['metadata']['name']}")
            await self.calls.create(path, template)

    async def _delete(self, path: str) -> None:
        template = await self.calls.read(path)
        if (
            template is not None
            and template["metadata"].get("labels", {}).get(names.MANAGED) == "true"
        ):
            await self.calls.delete(path, {"preconditions": {"uid": template["metadata"]["uid"]}})

    async def _own_templates(self, request: ProvisioningRequest) -> None:
        """Make a request the owner of its templates: they end with it."""
        meta = request.metadata
        if meta.uid in self.handed:
            return
        owners = request_owner_references({"name": meta.name, "uid": meta.uid})
        for podset in request.spec.pod_sets:
            path = f"{_templates_path(meta.namespace)}/{podset.pod_template_ref.name}"
            template = await self.calls.read(path)
            if template is not None and template["metadata"].get("ownerReferences") != owners:
                body: Object = {"metadata": {"ownerReferences": owners}}
                await self.calls.patch(path, with_preconditions(body, template))
        self.handed.add(meta.uid)

    async def _create_event(self, obj: Object, kind: str, reason: str, message: str) -> None:
        """Create a Kubernetes Event about a Workload; the same one only once."""
        meta = obj["metadata"]
        regarding = {"apiVersion": obj["apiVersion"], "kind": "Workload"}
        regarding |= {field: meta[field] for field in ("namespace", "name", "uid")}
        version = "" if kind == "Warning" else meta["resourceVersion"]
        text = f"{reason}\n{message}\n{version}".encode()
        end = hashlib.sha256(text).hexdigest()[:_DIGITS]
        event = event_about(regarding, end, self.now_us(), (kind, reason, message))
        try:
            await self.calls.create(f"/api/v1/namespaces/{meta['namespace']}/events", event)
        except ApiStatusError as error:
            if error.status != HTTPStatus.CONFLICT:
                _log.warning("event not made", reason=reason, error=str(error))

    def _now(self) -> str:
        return rfc3339(self.now_us())


def _state_change(old: Object, new: Object) -> str:
    message = f"Admission check {new['name']} updated state from {old['state']} to {new['state']}"
    return f"{message} with message: {new['message']}" if new.get("message") else message


def _workload_key(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{KUEUE}/namespaces/{meta['namespace']}/workloads/{meta['name']}"


def _path(namespace: str, name: str = "") -> str:
    base, _, plural = REQUESTS.rpartition("/")
    return f"{base}/namespaces/{namespace}/{plural}" + (f"/{name}" if name else "")


def _templates_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/podtemplates"
