"""Findings about the services' Deployments, and why a pod of one is not ready."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from tidegate.cli.doctor.findings import Finding, ok_finding, wrong_finding
from tidegate.cli.doctor.installation import PART_OF
from tidegate.cli.objects.api_client import ApiClient
from tidegate.errors import ApiStatusError
from tidegate.urls import redacted

_DEPLOYMENTS = "/apis/apps/v1/deployments"
_NAME = "app.kubernetes.io/name"
_ADVICE = {
    "CreateContainerConfigError": (
        "create the Secret or ConfigMap that the message names, with that key"
    ),
    "ErrImagePull": "push the image, or correct images.registry and images.tag",
    "ImagePullBackOff": "push the image, or correct images.registry and images.tag",
    "InvalidImageName": "correct images.registry and images.tag",
    "OOMKilled": "raise the container's memory limit",
    "Unschedulable": "add nodes, or correct nodeSelector, tolerations and affinity",
}

Object = dict[str, Any]


def examine_services(api: ApiClient) -> Iterator[Finding]:
    """Compare each Deployment's pods with what it wants; a standby that is not ready is named."""
    try:
        results = api.list_all(_DEPLOYMENTS, f"{PART_OF}=tidegate")
    except ApiStatusError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            yield wrong_finding(
                "ServicesUnknown", error.message, "run doctor with the right to list Deployments"
            )
            return
        results = []
    if not results:
        yield ok_finding("ServicesElsewhere", "the cluster has no Deployment of Tidegate")
    for deployment in results:
        yield _deployment_finding(api, deployment)


def _deployment_finding(api: ApiClient, deployment: Object) -> Finding:
    replicas = deployment["spec"].get("replicas", 1)
    ready = (deployment.get("status") or {}).get("readyReplicas", 0)
    namespace, name = deployment["metadata"]["namespace"], deployment["metadata"]["name"]
    if ready >= replicas:
        return ok_finding("ServiceReady", f"{namespace}/{name}: {ready} ready")
    text = f"{namespace}/{name}: {ready} of {replicas} ready"
    why, to_do = _not_ready_reason(api, namespace, deployment)
    if ready:
        text += ", so no pod can take over from the working one"
    code = "StandbyNotReady" if ready else "ServiceNotReady"
    return wrong_finding(code, text + why, to_do or f"kubectl -n {namespace} logs deploy/{name}")


def _not_ready_reason(api: ApiClient, namespace: str, deployment: Object) -> tuple[str, str]:
    """Return why a pod of a Deployment is not ready, and what to do; empty where unknown."""
    labels = (deployment["spec"].get("selector") or {}).get("matchLabels") or {}
    if _NAME not in labels:
        return "", ""
    try:
        pods = api.list_all(f"/api/v1/namespaces/{namespace}/pods", f"{_NAME}={labels[_NAME]}")
    except ApiStatusError:  # the right to list pods lacks
        return "", ""
    for pod in pods:
        for reason, message in _not_ready_causes(pod.get("status") or {}):
            suffix = f": {redacted(message)}" if message else ""
            where = f"kubectl -n {namespace} logs {pod['metadata']['name']} --all-containers"
            to_do = _ADVICE.get(reason, f"{where} --previous")
            return f"; {pod['metadata']['name']}: {reason}{suffix}", to_do
    return "", ""


def _not_ready_causes(status: Object) -> Iterator[tuple[str, str]]:
    """Yield what keeps a pod from being ready: reasons with messages, the most telling first."""
    for condition in status.get("conditions") or ():
        if (condition.get("type"), condition.get("status")) == ("PodScheduled", "False"):
            yield "Unschedulable", condition.get("message", "")
    lists = ("initContainerStatuses", "containerStatuses")
    for status_row in (each for key in lists for each in status.get(key) or ()):
        ended = (status_row.get("lastState") or {}).get("terminated") or {}
        waiting = (status_row.get("state") or {}).get("waiting") or {}
        if ended.get("reason") == "OOMKilled":
            yield "OOMKilled", f"container {status_row.get('name')}"
        elif waiting.get("reason") not in {None, "PodInitializing", "ContainerCreating"}:
            yield waiting["reason"], waiting.get("message", "")
