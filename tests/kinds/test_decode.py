"""Bytes of the API server, read: what a watch and a list say, and what is wrong with one object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tidegate.errors import UndecodableError
from tidegate.kinds.decode import Bookmark, Page, Unreadable, decode, decode_list, decode_object
from tidegate.kinds.kueue_api.queues.objects import ClusterQueue, ClusterQueueSpec
from tidegate.kinds.meta import ObjectMeta, Status
from tidegate.kinds.observed import Node

NAMED = {"metadata": {"name": "lab", "uid": "u-1", "resourceVersion": "7"}}
META = ObjectMeta(name="lab", uid="u-1", resource_version="7")


def line(kind: str, value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    return msgspec.json.encode({"type": kind, "object": value})


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_a_watch_tells_of_an_object(kind: str) -> None:
    row = decode(line(kind, NAMED | {"spec": {"cohortName": "campus"}}), ClusterQueue)
    spec = ClusterQueueSpec(cohort_name="campus")
    assert row == (kind, ClusterQueue(metadata=META, spec=spec))


def test_an_object_in_the_older_spelling_is_reported_in_the_newer() -> None:
    row = decode(line("ADDED", NAMED | {"spec": {"cohort": "campus"}}), ClusterQueue)
    spec = ClusterQueueSpec(cohort_name="campus")
    assert row == ("ADDED", ClusterQueue(metadata=META, spec=spec))


@pytest.mark.parametrize("extra", [{}, {"spec": {"unschedulable": None}}])
def test_of_each_object_that_is_read_the_bytes_are_noted(extra: dict[str, Any]) -> None:
    noted = list[tuple[str, Any]]()
    for kind in ("MODIFIED", "BOOKMARK"):
        data = line(kind, NAMED | extra)
        decode(data, Node, lambda obj, text: noted.append((obj.metadata.name, text)))
    page = msgspec.json.encode({"metadata": {}, "items": [NAMED | extra]})
    decode_list(page, Node, lambda obj, text: noted.append((obj.metadata.name, text)))
    assert noted == [("lab", msgspec.json.encode(NAMED | extra))] * 2


def test_a_bookmark_bears_a_version_alone() -> None:
    ended = {"annotations": {"k8s.io/initial-events-end": "true"}, "resourceVersion": "9"}
    assert decode(line("BOOKMARK", NAMED), Node) == ("BOOKMARK", Bookmark(7))
    row = decode(line("BOOKMARK", {"metadata": ended}), Node)
    assert row == ("BOOKMARK", Bookmark(9, initial_events_end=True))


def test_an_error_is_a_status() -> None:
    expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    row = decode(line("ERROR", expired), Node)
    assert row == ("ERROR", Status(code=410, reason="Expired", message="too old"))


def test_what_is_wrong_with_an_object_names_the_field_and_the_object() -> None:
    wrong = NAMED | {"spec": {"stopPolicy": "Drain"}}
    kind, value = decode(line("MODIFIED", wrong), ClusterQueue)
    assert (kind, value) == (
        "MODIFIED",
        Unreadable(
            META, "Invalid enum value 'Drain' - at `$.spec.stopPolicy`", msgspec.json.encode(wrong)
        ),
    )


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"type": "GROWN", "object": {}}'])
def test_a_line_that_is_no_event_is_an_error(body: bytes) -> None:
    with pytest.raises(UndecodableError):
        decode(body, Node)


def test_a_list_goes_on_behind_an_object_that_cannot_be_read() -> None:
    wrong = NAMED | {"spec": {"resourceGroups": "none"}}
    body = {"metadata": {"resourceVersion": "12", "continue": "abc"}, "items": [wrong, NAMED]}
    error = "Expected `array`, got `str` - at `$.spec.resourceGroups`"
    page = decode_list(msgspec.json.encode(body), ClusterQueue)
    unread = Unreadable(META, error, msgspec.json.encode(wrong))
    assert page == Page(12, "abc", (unread, ClusterQueue(metadata=META)))


def test_the_last_page_has_no_token() -> None:
    body = b'{"metadata": {"resourceVersion": "12"}, "items": []}'
    assert decode_list(body, Node) == Page(12, "", ())


@pytest.mark.parametrize("body", [b"{", b"7", b'{"metadata": {"name": 1}}'])
def test_an_object_that_is_none_is_an_error(body: bytes) -> None:
    with pytest.raises(UndecodableError):
        decode_object(body, Node)


def test_null_stands_for_nothing() -> None:
    body = b'{"metadata": {"name": "lab", "labels": null}, "spec": {"taints": null}}'
    assert decode_object(body, Node) == Node(metadata=ObjectMeta(name="lab"))


def test_unread_fields_are_passed_over() -> None:
    body = b'{"metadata": {"name": "n", "managedFields": [{}]}, "spec": {"podCIDR": "10.0.0.0/24"}}'
    assert decode_object(body, Node) == Node(metadata=ObjectMeta(name="n"))


def test_a_node_is_ready_if_its_kubelet_says_so() -> None:
    body = b'{"metadata": {}, "status": {"conditions": [{"type": "Ready", "status": "%s"}]}}'
    assert decode_object(body % b"True", Node).is_ready
    assert not decode_object(body % b"Unknown", Node).is_ready
