"""Waiting until the admission policies act: an API server loads new policies after seconds.

Until then a queued Job starts unasked, and an object of a new kind may be refused with 503.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from tidegate.errors import TidegateError
from tidegate.kinds.names import QUEUE_NAME
from tidegate.kube.answers import status_message
from tidegate.kube.ports import KubernetesApi, Response

Object = dict[str, Any]
_PATIENCE_S, _POLL_S = 60.0, 0.2
_CREATED, _NOT_YET = 201, 503
_QUEUES = "/apis/kueue.x-k8s.io/v1beta2"
_NAME = "tidegate-probe"
_POD = {"restartPolicy": "Never", "containers": [{"name": "probe", "image": "example.com/probe"}]}
_JOB: Object = {
    "metadata": {"name": _NAME, "labels": {QUEUE_NAME: _NAME}},
    "spec": {"template": {"spec": _POD}},
}
_QUEUE: Object = {"apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": {"name": _NAME}}
_LOCAL_QUEUE = {**_QUEUE, "kind": "LocalQueue", "spec": {"clusterQueue": _NAME}}
_CLUSTER_QUEUE = {**_QUEUE, "kind": "ClusterQueue", "spec": {"namespaceSelector": {}}}
_WORKLOAD = {
    **_QUEUE,
    "kind": "Workload",
    "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": _POD}}]},
}
_NEW_KINDS = (
    (f"{_QUEUES}/namespaces/default/localqueues", _LOCAL_QUEUE),
    (f"{_QUEUES}/namespaces/default/workloads", _WORKLOAD),
    (f"{_QUEUES}/clusterqueues", _CLUSTER_QUEUE),
)


class NotEnforcedError(TidegateError):
    """The policies do not act within the patience; the message has the last response."""


async def wait_enforced(api: KubernetesApi, *, mutates: bool = True) -> None:
    """Wait until a queued Job would be suspended, queues and Workloads be taken; stores nothing.

    Where nothing mutates jobs, none is suspended, and that is not waited for.

    It asks with dry runs in the namespace ``default``. A refusal by another project's policy
    proves nothing, and is not waited for.

    Raises:
        ApiUnreachableError: the API server does not answer.
        NotEnforcedError: the policies do not act in time.
    """
    answer = ""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while answer := await _why_not(api, mutates=mutates):  # noqa: ASYNC110 - a server cannot set an Event
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        message = f"the admission policies do not act after {_PATIENCE_S:.0f} s: {answer}"
        raise NotEnforcedError(message) from None


async def _why_not(api: KubernetesApi, *, mutates: bool) -> str:
    jobs = await _dry_run_create(api, "/apis/batch/v1/namespaces/default/jobs", _JOB)
    if why := _why_not_suspended(jobs) if mutates else _why_not_taken(jobs):
        return why
    for path, obj in _NEW_KINDS:
        if why := _why_not_taken(await _dry_run_create(api, path, obj)):
            return why
    return ""


async def _dry_run_create(api: KubernetesApi, path: str, obj: Object) -> Response:
    return await api.request("POST", path, query={"dryRun": "All"}, body=msgspec.json.encode(obj))


def _why_not_taken(answer: Response) -> str:
    return status_message(answer.body) if answer.status == _NOT_YET else ""


def _why_not_suspended(answer: Response) -> str:
    if answer.status != _CREATED:
        return _why_not_taken(answer)
    suspended = msgspec.json.decode(answer.body)["spec"].get("suspend")
    return "" if suspended else "a queued Job is not suspended when it is made"
