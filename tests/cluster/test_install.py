"""Tidegate's objects come into a cluster in order, once, and replace no other owner's objects."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from apiserver.api import EmbeddedApi
from tests.cluster.talking import CRDS, Object, Talk, crd
from tests.parts.kubernetes import make_namespace
from tidegate.cluster.install import apply, install, is_subset, manifests_folder
from tidegate.errors import ApiStatusError, NotSupportedError


def ignore(_: str) -> None:
    """Drop a message of the installation."""


async def test_a_second_installation_changes_nothing(embedded_api: EmbeddedApi) -> None:
    names = list[str]()
    count = await install(embedded_api, manifests_folder(), names.append)
    assert [line.rpartition(" ")[2] for line in names][:2] == ["crds", "policies"]
    before = embedded_api.registry.state.revision
    assert await install(embedded_api, manifests_folder(), ignore) == count > 20
    assert embedded_api.registry.state.revision == before


async def test_what_a_newer_manifest_lacks_does_not_stay(
    embedded_api: EmbeddedApi, tmp_path: Path
) -> None:
    wanted = crd("things", {"type": "object"})
    wanted["metadata"]["labels"] = {"app.kubernetes.io/part-of": "things"}
    names = wanted["spec"]["names"]
    (tmp_path / "crds").mkdir()
    for given in ({**names, "shortNames": ["t"]}, names):
        wanted["spec"]["names"] = given
        (tmp_path / "crds" / "things.yaml").write_bytes(msgspec.yaml.encode(wanted))
        await install(embedded_api, tmp_path, ignore)
        answer = await embedded_api.request("GET", f"{CRDS}/{wanted['metadata']['name']}")
        there: Object = msgspec.json.decode(answer.body)
        assert there["spec"]["names"].get("shortNames") == given.get("shortNames")


async def test_a_definition_of_another_owner_is_left_alone(embedded_api: EmbeddedApi) -> None:
    foreign = crd("clusterqueues", {"type": "object"})
    foreign["metadata"]["name"] = "clusterqueues.kueue.x-k8s.io"
    foreign["spec"]["group"] = "kueue.x-k8s.io"
    await apply(embedded_api, foreign)
    with pytest.raises(NotSupportedError, match=r"clusterqueues\.kueue\.x-k8s\.io"):
        await install(embedded_api, manifests_folder(), ignore)


async def test_what_differs_is_replaced_and_the_rest_is_kept(kube: Talk) -> None:
    base: Object = {"apiVersion": "v1", "kind": "ConfigMap"}
    base["metadata"] = {"name": "a", "namespace": kube.namespace, "labels": {"ours": "1"}}
    await apply(kube.api, {**base, "data": {"k": "v"}})
    await kube.merge(f"{kube.maps}/a", {"metadata": {"labels": {"theirs": "1"}}})
    changed = await apply(kube.api, {**base, "data": {"k": "w"}})
    assert changed["data"] == {"k": "w"}
    assert changed["metadata"]["labels"] == {"ours": "1", "theirs": "1"}
    again = await apply(kube.api, {**base, "data": {"k": "w"}})
    assert again["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]


async def test_a_kind_that_is_not_served_is_named(embedded_api: EmbeddedApi) -> None:
    await make_namespace(embedded_api)
    with pytest.raises(ApiStatusError, match="404"):
        await apply(
            embedded_api,
            {"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "a"}},
        )
    assert (await embedded_api.request("GET", CRDS)).status == 200


@pytest.mark.parametrize(
    ("there", "wanted", "holds"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": None}, {"a": {}}, False),
    ],
)
def test_what_is_there_includes_what_is_wanted(there: Object, wanted: Object, holds: bool) -> None:  # noqa: FBT001 - an example
    assert is_subset(there, wanted) is holds
