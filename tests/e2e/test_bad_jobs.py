"""Jobs that make no sense, of every kind: refused or recorded with a message, and others go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.act import Act
from tests.e2e.cast import define, events_of, post, until
from tests.e2e.kinds import ACTS
from tests.e2e.test_job_kinds import get, kueue
from tests.e2e.test_pods import GROUP, TOTAL, GatedAct, is_gated, pod
from tests.e2e.test_serving import LWS, leader_worker_set, of_apps
from tests.jobs.cases import BAD
from tests.parts.foreign import CONFIGURATION, foreign_crd
from tidegate.cli.commands.manifests import manifests_of_file as enabling
from tidegate.cluster.install import apply
from tidegate.cluster.running import RunOptions, run_services
from tidegate.contracts.facts import ObservationRefused
from tidegate.jobs.templates.paths import parse_path, with_value
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
Object = dict[str, Any]
NAMESPACE = "bad-jobs"
PODS = "/api/v1/namespaces/{}/pods"


def member(name: str, queue: str, seconds: float) -> Object:
    """Return a group of one pod."""
    obj = pod(name, queue, seconds)
    obj["metadata"]["labels"] |= {GROUP: name}
    obj["metadata"]["annotations"] |= {TOTAL: "1"}
    return obj


def gated(make: Callable[[str, str, float], Object]) -> Act:
    """Return the act of pods."""
    return GatedAct(
        namespace=NAMESPACE,
        framework="pod",
        path=PODS,
        make=make,
        templates=lambda obj: [obj],
        finished=lambda obj: obj["status"]["phase"] == "Succeeded",
        active=lambda obj: obj["status"]["phase"] == "Running",
    )


class ServingAct(Act):
    """What waits are its pods."""

    def is_suspended(self, obj: Object) -> bool:
        del obj
        return False


def serving(framework: str, path: str, make: Callable[[str, str], Object]) -> Act:
    """Return the act of a kind that is queued through its pods."""
    return ServingAct(
        namespace=NAMESPACE,
        framework=framework,
        path=path,
        make=lambda name, queue, _: make(name, queue),
        templates=lambda obj: [obj],
        finished=None,
        active=lambda _: True,
        crd=foreign_crd("leaderworkerset") if framework == LWS else None,
    )


APPS = "/apis/apps/v1/namespaces/{}"
SERVING = {
    "deployment": serving(
        "deployment",
        f"{APPS}/deployments",
        lambda name, queue: of_apps("Deployment", name, queue, 1),
    ),
    "statefulset": serving(
        "statefulset",
        f"{APPS}/statefulsets",
        lambda name, queue: of_apps("StatefulSet", name, queue, 1),
    ),
    "lws": serving(
        LWS,
        "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{}/leaderworkersets",
        lambda name, queue: leader_worker_set(name, queue, 1),
    ),
}
KINDS = {act.name: act for act in ACTS if act.name != "partial"} | {
    "pod": gated(pod),
    "pod-group": gated(member),
    **SERVING,
}
DEFECTS = {
    name: BAD[name] if name in BAD else BAD[act.declared.name if act.declared else act.framework]
    for name, act in KINDS.items()
}
QUICK = [name for name, act in KINDS.items() if not act.slow and name not in SERVING]
SLOW = ["pod", *(name for name, act in KINDS.items() if act.slow), *SERVING]


@pytest.mark.parametrize("kinds", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
async def test_what_makes_no_sense_is_reported_and_the_others_go_on(
    api: KubernetesApi, own_api: str, tmp_path: Path, kinds: list[str]
) -> None:
    config = tmp_path / "configuration.yaml"
    config.write_text(configured([KINDS[name] for name in kinds]))
    await prepare(api, str(config))
    wanted = RunOptions(state=tmp_path, kubeconfig=Path(own_api), config=str(config))
    async with run_services(wanted, print) as running:
        recorded = {
            uid: f"{kind} {name}"
            for kind in kinds
            for name, defect in DEFECTS[kind].items()
            if (uid := await submit(api, kind, name, defect))
        }
        for uid, name in recorded.items():
            await until(partial(is_reported, api, uid), f"{name} is told on the object")
        refused = {
            event.uid: event.error for event in events_of(running.ledger, ObservationRefused)
        }
        assert all(refused[uid] for uid in recorded)
        for kind in kinds:
            await create(api, kind, f"good-{kind}", {})
            await until(starts(api, kind, f"good-{kind}"), f"a good {kind} goes on")


def configured(acts: Sequence[Act]) -> str:
    """Return a configuration that enables these kinds, and what their gates open."""
    names = dict.fromkeys(act.framework for act in acts if act.framework)
    gates = {gate: True for act in acts for gate in act.gates}
    enabled = CONFIGURATION.read_text().replace("batch/job", ", ".join(names))
    return f"{enabled}featureGates: {msgspec.json.encode(gates).decode()}\n"


async def submit(api: KubernetesApi, kind: str, name: str, defect: Object) -> str:
    """Create a bad job; return its uid if it is to be recorded."""
    status, answered = await create(api, kind, f"{kind}-{name}", defect)
    if defect["then"] == "refused":
        assert status >= 400, f"{kind} {name}"
        assert answered.get("message")
        return ""
    assert status == 201, f"{kind} {name}: {answered}"
    return str(answered["metadata"]["uid"]) if defect["then"] == "recorded" else ""


async def create(api: KubernetesApi, kind: str, name: str, defect: Object) -> tuple[int, Object]:
    act = KINDS[kind]
    obj = act.make(name, NAMESPACE, 1)
    marks = dict(defect.get("marks", {}))
    if "fill" in defect:
        marks["example.com/much"] = "x" * defect["fill"]
    notes = obj["metadata"].get("annotations", {}) | marks
    obj["metadata"] |= {"annotations": notes} if notes else {}
    for field, value in defect.get("set", {}).items():
        obj = with_value(obj, parse_path(field), value)
    version = obj["apiVersion"].rpartition("/")[2]
    given = defect.get("version", version)
    obj["apiVersion"] = obj["apiVersion"].replace(version, given)
    where = act.path.format(NAMESPACE).replace(f"/{version}/", f"/{given}/")
    answer = await post(api, where, obj)
    try:
        return answer.status, msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return answer.status, {"message": answer.body.decode()}


async def is_reported(api: KubernetesApi, uid: str) -> bool:
    events = (await get(api, f"/api/v1/namespaces/{NAMESPACE}/events"))["items"]
    about = {
        event["involvedObject"].get("uid")
        for event in events
        if event["reason"] == "Unreadable" and event["type"] == "Warning" and event["message"]
    }
    return uid in about


def starts(api: KubernetesApi, kind: str, name: str) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        fields = await get(api, f"{KINDS[kind].path.format(NAMESPACE)}/{name}")
        pods = (await get(api, PODS.format(NAMESPACE)))["items"] if kind == "deployment" else []
        its = [obj for obj in pods if obj["metadata"]["name"].startswith(f"{name}-")]
        marked = any(map(is_decided_on, [fields, *its]))
        return marked and not KINDS[kind].is_suspended(fields)

    return look


def is_decided_on(obj: Object) -> bool:
    """Tell whether a decision stands on an object, perhaps on one of its groups."""
    notes = obj["metadata"].get("annotations", {})
    return any(key.startswith("tidegate.dev/decision") for key in notes)


async def prepare(api: KubernetesApi, config: str) -> None:
    for act in KINDS.values():
        for manifest in (*([act.crd] if act.crd else []), *act.also):
            await define(api, manifest)
    for fields in enabling(config):
        await apply(api, fields)
    quota = [{"name": "cpu", "nominalQuota": "100"}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": NAMESPACE, "resources": quota}]}
    queue: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
    for manifest in (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        kueue("ResourceFlavor", NAMESPACE, spec={}),
        kueue("ClusterQueue", NAMESPACE, spec=queue),
        kueue("LocalQueue", NAMESPACE, NAMESPACE, spec={"clusterQueue": NAMESPACE}),
    ):
        await apply(api, manifest)
    await until(lambda: is_gated_when_made(api), "the policy about pods is in force")


async def is_gated_when_made(api: KubernetesApi) -> bool:
    body = msgspec.json.encode(pod("probe", NAMESPACE, 1))
    path = PODS.format(NAMESPACE)
    answer = await api.request("POST", path, query={"dryRun": "All"}, body=body)
    return answer.status == 201 and is_gated(msgspec.json.decode(answer.body))
