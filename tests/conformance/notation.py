"""Worked examples in the notation of behaviour.md 19, as cases like the recorded ones.

A line: ``P1: Q q0[f9] LP/LP; R 0@q0:f4p1t4c2; IN q0 9 p2c3 -> ...``, all of one resource, cpu.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conformance.cases import Case, Json, micros

LINE = re.compile(r"([A-Z]\d+)(?: \((\w+)\))?: (.*?) -> (.*)")
_NODE = re.compile(r"(r|c\d+x?|q\d+)(?:<(r|c\d+x?))?(?:\[([^\]]*)\])?(?:w([\d.]+))?(.*)")
_QUOTA = re.compile(r"([fg])(\d+)(?:b(\d+))?(?:l(\d+))?")
_RUNS = re.compile(r"(\d+)@(q\d+):([fg])(\d+)(?:p(-?\d+))?(?:t(\d+))?(?:c(\d+))?(!)?")
_WAITS = re.compile(r"(p\d+)@(q\d+):(\d+)p(-?\d+)c(\d+)")
_COMES = re.compile(r"(q\d+) (\d+) p(-?\d+)c(\d+)")
_POLICIES = {"N": "Never", "LP": "LowerPriority", "LNE": "LowerOrNewerEqualPriority", "Any": "Any"}
_STOPS = {"S": "MayStopSearch", "T": "TryNextFlavor"}
_PREFERENCES = {"BoP": "BorrowingOverPreemption", "PoB": "PreemptionOverBorrowing"}
_FUNGIBILITY = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
_EVICTED_S = 50


class Example(NamedTuple):
    """One line: its name, what is said of it in brackets, what it begins with, what follows."""

    name: str
    mode: str
    text: str
    follows: str


def examples(path: Path) -> Iterator[Example]:
    """Yield the examples of a file."""
    for line in path.read_text().splitlines():
        if match := LINE.fullmatch(line):
            yield Example(match[1], match[2] or "", match[3].strip(), match[4])


def case(text: str, *, fair: bool = False, first_only: bool = False) -> Case:
    """Return an example as a case; ``first_only``: fair preemption by initial shares alone."""
    parts = dict(re.findall(r"(?:^|; )(H|Q|R|IN|P) ([^;]*)", text))
    queues = [_cluster_queue(each) for each in parts["Q"].split(", ")]
    names = [each["metadata"]["name"] for each in queues]
    workloads = [_running(match) for match in _RUNS.finditer(parts.get("R", ""))]
    workloads += [
        workload(match[1], match[2], match[3], match[4], match[5])
        for match in _WAITS.finditer(parts.get("P", ""))
    ]
    objects: Json = {
        "fairSharing": fair,
        "cohorts": [_cohort(each) for each in parts.get("H", "").split(", ") if each],
        "clusterQueues": queues,
        "resourceFlavors": [{"metadata": {"name": flavor}, "spec": {}} for flavor in "fg"],
        "namespaces": [{"metadata": {"name": "n"}}],
        "localQueues": [
            {"metadata": {"name": name, "namespace": "n"}, "spec": {"clusterQueue": name}}
            for name in names
        ],
        "workloads": workloads,
    }
    if first_only:
        objects["preemptionStrategies"] = ["LessThanInitialShare"]
    if match := _COMES.fullmatch(parts.get("IN", "")):
        objects["targetClusterQueue"] = match[1]
        objects["incoming"] = workload("zz", match[1], match[2], match[3], match[4])
    return Case("worked", "worked", {}, micros(_at("0")), objects, {})


def workload(name: str, queue: str, cpu: str, priority: str, created: str) -> Json:
    """Return a Workload of one pod; its uid is its name."""
    resources = {"requests": {"cpu": cpu}}
    pods = {"containers": [{"name": "c", "resources": resources}], "restartPolicy": "Never"}
    meta = {"name": name, "namespace": "n", "uid": name, "creationTimestamp": _at(created)}
    podset = {"name": "main", "count": 1, "template": {"spec": pods}}
    spec = {"queueName": queue, "priority": int(priority), "podSets": [podset]}
    return {"metadata": meta, "spec": spec}


def _running(match: re.Match[str]) -> Json:
    number, queue, flavor, cpu, priority, reserved, created, evicted = match.groups()
    obj = workload(f"w{int(number):02}", queue, cpu, priority or "0", created or "0")
    podset = {"name": "main", "count": 1, "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": cpu}}
    conditions = [_condition("QuotaReserved", reserved or "0")]
    conditions += [_condition("Evicted", str(_EVICTED_S))] if evicted else []
    admission = {"clusterQueue": queue, "podSetAssignments": [podset]}
    return obj | {"status": {"admission": admission, "conditions": conditions}}


def _condition(kind: str, at_s: str) -> Json:
    return {"type": kind, "status": "True", "reason": "Preempted", "lastTransitionTime": _at(at_s)}


def _cluster_queue(text: str) -> Json:
    match = _matched(text)
    spec = _node(match, "cohortName") | {
        "namespaceSelector": {},
        "queueingStrategy": "StrictFIFO" if "SF" in match[5].split() else "BestEffortFIFO",
        "flavorFungibility": _FUNGIBILITY,
    }
    for word in match[5].split():
        if "/" in word:
            spec["preemption"] = _preemption(*word.split("/"))
        elif word not in ("BE", "SF"):
            spec["flavorFungibility"] = _fungibility(word)
    return {"metadata": {"name": match[1]}, "spec": spec}


def _cohort(text: str) -> Json:
    match = _matched(text)
    return {"metadata": {"name": match[1]}, "spec": _node(match, "parentName")}


def _matched(text: str) -> re.Match[str]:
    match = _NODE.fullmatch(text)
    assert match is not None, text
    return match


def _node(match: re.Match[str], parent: str) -> Json:
    _, above, quotas, weight, _ = match.groups()
    flavors = [_flavor(quota) for quota in _QUOTA.finditer(quotas or "")]
    spec: Json = {parent: above} if above else {}
    spec |= {"fairSharing": {"weight": weight}} if weight else {}
    return spec | {
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}] if flavors else []
    }


def _flavor(match: re.Match[str]) -> Json:
    quota = {"nominalQuota": match[2], "borrowingLimit": match[3], "lendingLimit": match[4]}
    resource = {"name": "cpu", **{field: text for field, text in quota.items() if text}}
    return {"name": match[1], "resources": [resource]}


def _preemption(within: str, reclaim: str, borrow: str = "") -> Json:
    policy: Json = {
        "withinClusterQueue": _POLICIES[within],
        "reclaimWithinCohort": _POLICIES[reclaim],
    }
    if borrow:
        name, _, threshold = borrow.partition("<=")
        policy["borrowWithinCohort"] = {"policy": _POLICIES[name]} | (
            {"maxPriorityThreshold": int(threshold)} if threshold else {}
        )
    return policy


def _fungibility(word: str) -> Json:
    stops = {"whenCanBorrow": _STOPS[word[0]], "whenCanPreempt": _STOPS[word[1]]}
    preference = _PREFERENCES.get(word[2:])
    return stops | ({"preference": preference} if preference else {})


def _at(seconds: str) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"2026-10-01T12:{minutes:02}:{rest:02}Z"
