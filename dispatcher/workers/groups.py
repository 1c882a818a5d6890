"""Copy a pod group to a worker cluster: which of its pods are sent, under the group's one Workload.

Source: multikueue.md 3.2, Pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dispatcher import api as calls
from dispatcher.adapters.copies import is_copy_of_origin, workload_of
from dispatcher.adapters.jobs import remote_job
from dispatcher.jobs import is_being_deleted
from dispatcher.workers.job_sync import Found, JobSyncer
from dispatcher.workers.worker import Worker
from tidegate.jobs.kind import Object
from tidegate.jobs.pods import pod, pod_group
from tidegate.jobs.pods.grouping import group_of, group_uid
from tidegate.jobs.pods.pod_roles import role
from tidegate.kinds import names
from tidegate.kinds.decode import read
from tidegate.kinds.names import MANAGER
from tidegate.kinds.pods import Pod
from tidegate.kube.ports import KubernetesApi
from tidegate.model.ids import ObjectRef

_PATH = pod.KIND.path()


async def sync_group(
    syncer: JobSyncer, worker: Worker, job: ObjectRef, key: str, *, ended: bool
) -> tuple[Found, int]:
    """See ``JobSyncer.sync``: the version is that of the group's newest pod here."""
    pods = await _group_pods(syncer.home, job)
    typed = [read(each, Pod) for each in pods]
    if not typed or group_uid(typed) != job.uid:
        return "gone", 0
    local_pods = {each["metadata"]["name"]: each for each in pods if not is_being_deleted(each)}
    remote_pods = await _remote_pods(syncer, worker, job, key, fresh=ended)
    results: list[Found] = [await _delete_others(worker, local_pods, remote_pods)]
    to_send = set[str]() if ended else pods_to_send(typed)
    version = max(int(each["metadata"]["resourceVersion"]) for each in pods)
    for name, local in local_pods.items():
        if name in remote_pods and is_copy_of(remote_pods[name], local):
            result, shown_version = await syncer.copy_status(pod.KIND, local, remote_pods[name])
            version = max(version, shown_version)
            results.append(result)
        elif name in to_send and name not in remote_pods:
            results.append(await _create_pod(syncer, worker, local, key))
    return _combined_result(results), version


async def delete_group(syncer: JobSyncer, worker: Worker, job: ObjectRef, key: str) -> bool:
    """Delete the pods of a group on a worker cluster; return whether any is left.

    Pods that a finalizer keeps are deleted with their Workload, and are not waited for before.
    """
    remote_pods = await _remote_pods(syncer, worker, job, key, fresh=True)
    for each in remote_pods.values():
        if not is_being_deleted(each):
            await calls.delete(worker.api, _path(each), each)
    return bool(remote_pods)


async def _group_pods(home: KubernetesApi, job: ObjectRef, selected: str = "") -> list[Object]:
    """Return the pods of a group as an API server has them, of those with further labels."""
    assert pod_group.KIND.members is not None, "a group has pods"
    for selector in pod_group.KIND.members.selectors(job):
        query = {"labelSelector": f"{selector},{selected}" if selected else selector}
        page = await calls.read(home, pod.KIND.path(job.namespace), query)
        items: list[Object] = [] if page is None else page.get("items") or []
        typed = ({"apiVersion": "v1", "kind": "Pod", **member} for member in items)
        if pods := [each for each in typed if pod_group.KIND.members.is_member(job, each)]:
            return pods
    return []


async def _remote_pods(
    syncer: JobSyncer, worker: Worker, job: ObjectRef, key: str, *, fresh: bool
) -> dict[str, Object]:
    """Return the pods that were sent for a Workload, by name; ``fresh``: as they are now."""
    pods: Iterable[Object] = worker.jobs_sent_for(_PATH, key)
    if fresh:
        pods = await _group_pods(worker.api, job, f"{MANAGER}={syncer.origin}")
    return {each["metadata"]["name"]: each for each in pods if workload_of(each) == key}


async def _delete_others(
    worker: Worker, local_pods: dict[str, Object], remote_pods: dict[str, Object]
) -> Found:
    """Delete the pods there that no pod here stands for; one of a name is awaited."""
    result: Found = "there"
    for name, remote in remote_pods.items():
        local = local_pods.get(name)
        if local is not None and is_copy_of(remote, local):
            continue
        if local is not None:
            result = "later"
        if not is_being_deleted(remote):
            await calls.delete(worker.api, _path(remote), remote)
    return result


async def _create_pod(syncer: JobSyncer, worker: Worker, local: Object, key: str) -> Found:
    meta = local["metadata"]
    body = remote_pod(local, key.partition("/")[2], syncer.origin)
    if await worker.create_job(pod.KIND, body) is not None:
        return "there"
    remote = await worker.find_job(pod.KIND, meta["namespace"], meta["name"], fresh=True)
    if remote is None:
        return "later"
    mine = is_copy_of_origin(remote, syncer.origin) and workload_of(remote) == key
    if not mine:
        return "foreign"
    return "there" if is_copy_of(remote, local) else "later"


def _combined_result(results: Sequence[Found]) -> Found:
    """Return what counts of the pods of a group."""
    if "foreign" in results:
        return "foreign"
    return "later" if "later" in results else "there"


def _path(obj: Object) -> str:
    meta = obj["metadata"]
    return pod.KIND.path(meta["namespace"], meta["name"])


def pods_to_send(pods: Sequence[Pod]) -> set[str]:
    """Return the names of the pods that a worker cluster should have.

    Those that succeeded elsewhere run again, as the pods of a Job do; those that failed wait for
    others in their places, and those too many are deleted here.

    Raises:
        UndecodableError: the pods do not agree on their group.
    """
    group = group_of(pods)
    return {member.metadata.name for member in (*group.members, *group.succeeded)}


def remote_pod(local: Object, workload: str, origin: str) -> Object:
    """Return the copy of a pod of a group: it says which pod it is, and in which podset."""
    copied = remote_job(pod.KIND, local, workload, origin)
    marks = {names.MANAGER_UID: local["metadata"]["uid"], names.ROLE_HASH: role(read(local, Pod))}
    copied["metadata"]["annotations"] |= marks
    return copied


def is_copy_of(remote: Object, local: Object) -> bool:
    """Return whether a pod was made of this one, and not of one that had its name before."""
    notes = remote["metadata"].get("annotations") or {}
    uid = local["metadata"]["uid"]
    return bool(notes.get(names.MANAGER_UID, uid) == uid)
