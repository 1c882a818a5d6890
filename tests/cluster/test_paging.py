"""A list in pages is one list: of one version, whatever happens between two pages."""

from __future__ import annotations

from tests.cluster.talking import Talk


async def test_a_list_comes_in_pages_of_one_version(kube: Talk) -> None:
    for name in "abcde":
        await kube.make(kube.maps, {"metadata": {"name": f"paged-{name}"}})
    only = {"fieldSelector": "metadata.name!=kube-root-ca.crt"}
    first = await kube.get(kube.maps, limit="2", **only)
    await kube.remove(f"{kube.maps}/paged-e")
    names, page = [_names(first)], first
    while token := page["metadata"].get("continue"):
        page = await kube.get(kube.maps, limit="2", **{"continue": token}, **only)
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        names.append(_names(page))
    assert names == [["paged-a", "paged-b"], ["paged-c", "paged-d"], ["paged-e"]]


async def test_a_token_that_was_never_issued_is_refused(kube: Talk) -> None:
    status, _ = await kube.send("GET", kube.maps, limit="2", **{"continue": "nonsense"})
    assert status in (400, 410)


def _names(page: dict[str, object]) -> list[str]:
    items = page["items"]
    assert isinstance(items, list)
    return [obj["metadata"]["name"] for obj in items]
