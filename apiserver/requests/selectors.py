"""Label and field selectors, as queries write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from apiserver.refusals import bad_request
from apiserver.resources import Resource

Object = dict[str, Any]
Selector = Callable[[Object], bool]
_Test = Callable[[str | None], bool]

_SET = re.compile(r"\s*(?P<key>[^\s!=,()]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)\s*")
_EQUAL = re.compile(r"\s*(?P<key>[^\s!=,()]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^\s!=,()]*)\s*")
_EXISTS = re.compile(r"\s*(?P<not>!?)\s*(?P<key>[^\s!=,()]+)\s*")


def selector(resource: Resource, query: Mapping[str, str]) -> Selector:
    """Return the test that a query's label and field selectors make.

    Raises:
        RefusedError: 400, a selector cannot be read or names a field that is not served.
    """
    labels = label_tests(query.get("labelSelector", ""))
    fields = [_field_test(resource, term) for term in _terms(query.get("fieldSelector", ""))]
    return lambda obj: has_labels(obj, labels) and all(test(obj) for test in fields)


def label_tests(text: str) -> list[tuple[str, _Test]]:
    """Read a label selector: ``a=b,c!=d,e,!f,g in (h, i)``.

    Raises:
        RefusedError: 400, it cannot be read.
    """
    tests, at = list[tuple[str, _Test]](), 0
    while at < len(text):
        for form, make in ((_SET, _set_test), (_EQUAL, _equal_test), (_EXISTS, _exists_test)):
            match = form.match(text, at)
            if match and text[match.end() : match.end() + 1] in ("", ","):
                tests.append((match["key"], make(match)))
                at = match.end() + 1
                break
        else:
            raise bad_request(f"unable to parse requirement: {text[at:]!r}")
    return tests


def has_labels(obj: Object, tests: list[tuple[str, _Test]]) -> bool:
    """Return whether an object's labels pass every test."""
    labels = obj["metadata"].get("labels") or {}
    return all(test(labels.get(key)) for key, test in tests)


def read_field(obj: Object, path: str) -> str:
    """Return the text of a field such as ``spec.nodeName``; missing is empty."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def _set_test(match: re.Match[str]) -> _Test:
    values = {value.strip() for value in match["values"].split(",")}
    if match["op"] == "in":
        return lambda value: value in values
    return lambda value: value not in values


def _equal_test(match: re.Match[str]) -> _Test:
    expected = match["value"]
    if match["op"] == "!=":
        return lambda value: value != expected
    return lambda value: value == expected


def _exists_test(match: re.Match[str]) -> _Test:
    if match["not"]:
        return lambda value: value is None
    return lambda value: value is not None


def _terms(text: str) -> list[str]:
    return [term for term in text.split(",") if term]


def _field_test(resource: Resource, term: str) -> Selector:
    match = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", term)
    if match is None:
        raise bad_request(f"invalid field selector: {term!r}")
    path, operator, expected = match.groups()
    if path not in ("metadata.name", "metadata.namespace", *resource.fields):
        raise bad_request(f'field label "{path}" not supported for {resource.kind}')
    if operator == "!=":
        return lambda obj: read_field(obj, path) != expected
    return lambda obj: read_field(obj, path) == expected
