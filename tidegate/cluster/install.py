"""Putting Tidegate's own objects into a cluster: CRDs, then policies, then roles.

The order matters: a policy that names a CRD which is not there refuses every Job of the cluster.
Everything may be done again: what is there already and differs is replaced. Each object bears the
digest of its manifest, so that what a newer manifest lacks does not stay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tidegate.cluster.enforcement import wait_enforced
from tidegate.errors import ApiStatusError, NotSupportedError, TidegateError
from tidegate.kinds.policies.forms import API_VERSION
from tidegate.kinds.policies.webhooks import is_mutating
from tidegate.kube.answers import checked_body
from tidegate.kube.ports import JSON, KubernetesApi, Response

Object = dict[str, Any]
ORDER = ("crds", "policies", "rbac")  # folders of manifests, in the order of their application
DIGEST = "tidegate.dev/manifest"
"""On what was installed: the SHA-256 of its manifest."""
NO_MUTATING_POLICIES = (
    "this Kubernetes has no MutatingAdmissionPolicy (1.36 has): until the webhook is deployed"
    " (docs/operations.md), a queued job runs until it is seen, and is stopped then"
)
_PART_OF = "app.kubernetes.io/part-of"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ESTABLISHED_S, _POLL_S = 60.0, 0.1
_NOT_YET_TIMES, _NOT_YET_S = 60, 0.5
_OK, _NOT_FOUND, _CONFLICT, _NOT_YET = 200, 404, 409, 503


class NotEstablishedError(TidegateError):
    """A CRD is not served within the patience; the message has its name and the cause."""


def manifests_folder() -> Path:
    """Return where the manifests are: beside the packages in a checkout, else in the wheel.

    Raises:
        NotSupportedError: they are in neither place.
    """
    package = Path(__file__).parents[1]
    for folder in (package.parent / "deploy", package / "deploy"):
        if (folder / ORDER[0]).is_dir():
            return folder
    raise NotSupportedError(
        "The manifests are not installed with this package: give the folder deploy/ of a checkout."
    )


async def install(api: KubernetesApi, folder: Path, report: Callable[[str], None]) -> int:
    """Apply every manifest below a folder and wait until they have effect; return how many.

    Kubernetes before 1.36 has no mutating policies: they are left out, and a message names what
    stands in their place.

    Raises:
        ApiStatusError: the API server refused one.
        ApiUnreachableError: it does not answer.
        NotEnforcedError: the policies do not act in time.
        NotEstablishedError: a CRD is not served in time.
        NotSupportedError: a CRD of another project, such as Kueue, has the same name.
    """
    count, paths = 0, dict[str, str]()
    mutates = await has_mutating_policies(api)
    if not mutates:
        report(NO_MUTATING_POLICIES)
    for part in ORDER:
        objects = [obj for obj in read_manifests(folder / part) if mutates or not is_mutating(obj)]
        if objects:
            report(f"applying {len(objects)} objects of {part}")
        for obj in objects:
            await _refuse_if_foreign(api, obj)
            await apply(api, _with_digest(obj), paths)
        await asyncio.gather(*(_wait_established(api, obj) for obj in objects if _is_crd(obj)))
        count += len(objects)
    if any(read_manifests(folder / "policies")):
        await wait_enforced(api, mutates=mutates)
    return count


async def has_mutating_policies(api: KubernetesApi) -> bool:
    """Return whether an API server serves MutatingAdmissionPolicies, as from Kubernetes 1.36 on.

    Raises:
        ApiStatusError: it refuses to say what it serves.
        ApiUnreachableError: it does not answer.
    """
    rows = _read(await api.request("GET", f"/apis/{API_VERSION}"))["resources"]
    return any(row["kind"] == "MutatingAdmissionPolicy" for row in rows)


def read_manifests(folder: Path) -> Iterator[Object]:
    """Yield the objects of every YAML file of a folder, in the order of the files' names."""
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        yield from read_documents(path.read_text())


def read_documents(text: str) -> Iterator[Object]:
    """Yield the objects of a YAML text: in C where PyYAML has that, which takes a tenth."""
    for document in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if document:
            yield document


async def apply(api: KubernetesApi, obj: Object, paths: dict[str, str] | None = None) -> Object:
    """Create an object, or replace the one that is there if it differs; return what is stored.

    ``paths`` remembers where kinds live, over many calls.

    Raises:
        ApiStatusError: the API server refused it.
        ApiUnreachableError: it does not answer.
    """
    collection = await _collection_path(api, obj, {} if paths is None else paths)
    path = f"{collection}/{obj['metadata']['name']}"
    while True:
        response = await api.request("GET", path)
        if response.status == _NOT_FOUND:
            answer = await _send(api, "POST", collection, obj)
            if (
                answer.status != _CONFLICT
            ):  # else another client was faster: compare with its object
                return _read(answer)
            continue
        current = _read(response)
        if is_subset(current, obj):
            return current
        merged = {**current, **obj, "metadata": _merged_metadata(current, obj)}
        answer = await _send(api, "PUT", path, merged)
        if answer.status != _CONFLICT:
            return _read(answer)


def is_subset(current: object, desired: object) -> bool:
    """Return whether what is there has everything that is wanted, whatever else it has."""
    match current, desired:
        case dict(), dict():
            return all(is_subset(current.get(key), value) for key, value in desired.items())
        case list(), list():
            pairs = zip(current, desired, strict=False)
            return len(current) == len(desired) and all(is_subset(a, b) for a, b in pairs)
        case _:
            return current == desired


def _with_digest(obj: Object) -> Object:
    digest = sha256(msgspec.json.encode(obj, order="deterministic")).hexdigest()
    annotations = {**obj["metadata"].get("annotations", {}), DIGEST: digest}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


async def _refuse_if_foreign(api: KubernetesApi, obj: Object) -> None:
    """Leave the CRDs of another installation alone: its objects hang on them."""
    name = obj["metadata"]["name"]
    response = await api.request("GET", f"{_CRDS}/{name}") if _is_crd(obj) else None
    if response is not None and response.status == _OK:
        labels = _read(response)["metadata"].get("labels") or {}
        if labels.get(_PART_OF) != obj["metadata"]["labels"][_PART_OF]:
            raise NotSupportedError(
                f"The CRD {name} is in the cluster and is not Tidegate's: remove what it belongs"
                " to first (docs/migrating-from-kueue.md), or use another cluster."
            )


async def _wait_established(api: KubernetesApi, crd: Object) -> None:
    name = crd["metadata"]["name"]
    path = f"{_CRDS}/{name}"
    condition = "no condition yet"
    try:
        async with asyncio.timeout(_ESTABLISHED_S):
            while condition:
                condition = _why_not_established(_read(await api.request("GET", path)))
                condition = condition or await _why_not_served(api, crd)
                await asyncio.sleep(_POLL_S if condition else 0)
    except TimeoutError:
        message = f"{name} is not served after {_ESTABLISHED_S:.0f} s: {condition}"
        raise NotEstablishedError(message) from None


def _why_not_established(crd: Object) -> str:
    for condition in (crd.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Established" and condition["status"] == "True":
            return ""
        if condition["status"] == "False":
            return f"{condition['reason']}: {condition['message']}"
    return "not established"


async def _why_not_served(api: KubernetesApi, crd: Object) -> str:
    spec = crd["spec"]
    for version in spec["versions"]:
        if version["served"]:
            path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
            if (await api.request("GET", path, query={"limit": "1"})).status != _OK:
                return f"{path} does not answer"
    return ""


async def _collection_path(api: KubernetesApi, obj: Object, paths: dict[str, str]) -> str:
    """Return the path at which objects of this kind are created."""
    version, kind = obj["apiVersion"], obj["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if f"{root} {kind}" not in paths:
        for row in _read(await api.request("GET", root))["resources"]:
            inside = "/namespaces/{}" if row["namespaced"] else ""
            if "/" not in row["name"]:
                paths[f"{root} {row['kind']}"] = f"{root}{inside}/{row['name']}"
    if f"{root} {kind}" not in paths:
        raise ApiStatusError(_NOT_FOUND, f"{kind} of {version} is not served")
    return paths[f"{root} {kind}"].format(obj["metadata"].get("namespace", "default"))


def _merged_metadata(current: Object, desired: Object) -> Object:
    metadata: Object = {**current["metadata"], **desired["metadata"]}
    for field in ("labels", "annotations"):
        both: Sequence[Mapping[str, str]] = [
            obj["metadata"].get(field) or {} for obj in (current, desired)
        ]
        if any(both):
            metadata[field] = {**both[0], **both[1]}
    return metadata


def _is_crd(obj: Object) -> bool:
    return bool(obj["kind"] == "CustomResourceDefinition")


async def _send(api: KubernetesApi, method: str, path: str, obj: Object) -> Response:
    """Send an object; a policy that does not know a new CRD yet makes the server say 503."""
    body = msgspec.json.encode(obj)
    answer = await api.request(method, path, body=body, content_type=JSON)
    for _ in range(_NOT_YET_TIMES):
        if answer.status != _NOT_YET:
            break
        await asyncio.sleep(_NOT_YET_S)
        answer = await api.request(method, path, body=body, content_type=JSON)
    return answer


def _read(answer: Response) -> Object:
    body: Object = msgspec.json.decode(checked_body(answer))
    return body
