"""What ``tidegate doctor`` says of the services' Deployments, and why a pod of one is not ready."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from tidegate.cli.doctor.findings import Finding, good, wrong
from tidegate.cli.doctor.installation import PART_OF
from tidegate.cli.objects.api_client import Asking
from tidegate.errors import ApiStatusError
from tidegate.urls import shown

_DEPLOYMENTS = "/apis/apps/v1/deployments"
_NAME = "app.kubernetes.io/name"
_ADVICE = {
    "CreateContainerConfigError": "make the Secret or ConfigMap that it names, with that key",
    "ErrImagePull": "push the image, or correct images.registry and images.tag",
    "ImagePullBackOff": "push the image, or correct images.registry and images.tag",
    "InvalidImageName": "correct images.registry and images.tag",
    "OOMKilled": "raise the container's memory limit",
    "Unschedulable": "give the cluster room, or correct nodeSelector, tolerations and affinity",
}

Object = dict[str, Any]


def examine_services(api: Asking) -> Iterator[Finding]:
    """Compare each Deployment's pods with what it wants; a standby that is not ready is named."""
    try:
        found = api.every(_DEPLOYMENTS, f"{PART_OF}=tidegate")
    except ApiStatusError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            yield wrong("ServicesUnknown", error.message, "ask with the right to list Deployments")
            return
        found = []
    if not found:
        yield good("ServicesElsewhere", "no Deployment of Tidegate is in there")
    for one in found:
        yield _of_deployment(api, one)


def _of_deployment(api: Asking, found: Object) -> Finding:
    wanted = found["spec"].get("replicas", 1)
    ready = (found.get("status") or {}).get("readyReplicas", 0)
    namespace, name = found["metadata"]["namespace"], found["metadata"]["name"]
    if ready >= wanted:
        return good("ServiceReady", f"{namespace}/{name}: {ready} ready")
    text = f"{namespace}/{name}: {ready} of {wanted} ready"
    why, to_do = _reason(api, namespace, found)
    if ready:
        text += ", so nobody can take over from the one that works"
    code = "StandbyNotReady" if ready else "ServiceNotReady"
    return wrong(code, text + why, to_do or f"kubectl -n {namespace} logs deploy/{name}")


def _reason(api: Asking, namespace: str, found: Object) -> tuple[str, str]:
    """Return why a pod of a Deployment is not ready, and what to do; empty where nobody says."""
    labels = (found["spec"].get("selector") or {}).get("matchLabels") or {}
    if _NAME not in labels:
        return "", ""
    try:
        pods = api.every(f"/api/v1/namespaces/{namespace}/pods", f"{_NAME}={labels[_NAME]}")
    except ApiStatusError:  # the right to list pods lacks
        return "", ""
    for pod in pods:
        for reason, message in _troubles(pod.get("status") or {}):
            said = f": {shown(message)}" if message else ""
            where = f"kubectl -n {namespace} logs {pod['metadata']['name']} --all-containers"
            to_do = _ADVICE.get(reason, f"{where} --previous")
            return f"; {pod['metadata']['name']}: {reason}{said}", to_do
    return "", ""


def _troubles(status: Object) -> Iterator[tuple[str, str]]:
    """Yield what keeps a pod from being ready: reasons with messages, the most telling first."""
    for condition in status.get("conditions") or ():
        if (condition.get("type"), condition.get("status")) == ("PodScheduled", "False"):
            yield "Unschedulable", condition.get("message", "")
    lists = ("initContainerStatuses", "containerStatuses")
    for one in (each for key in lists for each in status.get(key) or ()):
        ended = (one.get("lastState") or {}).get("terminated") or {}
        waiting = (one.get("state") or {}).get("waiting") or {}
        if ended.get("reason") == "OOMKilled":
            yield "OOMKilled", f"container {one.get('name')}"
        elif waiting.get("reason") not in {None, "PodInitializing", "ContainerCreating"}:
            yield waiting["reason"], waiting.get("message", "")
