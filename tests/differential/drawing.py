"""Draws the objects of random scenarios: tight quotas, many policies, few sizes."""

from __future__ import annotations

from random import Random

from tests.conformance.cases import Json

STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
PRIORITIES = (-50, 100, 100, 500, 1000)
QUOTAS_CPU = (0, 2, 3, 4, 4, 6)
WEIGHTS = ("1", "1", "1", "2", "4", "0.5", "0")


def cohorts(rng: Random, flavors: list[str], resources: list[str]) -> list[Json]:
    """Return no cohorts, or a tree of a few."""
    if rng.random() < 0.4:
        return []
    names = ["root", *(f"org-{index}" for index in range(rng.randint(0, 3)))]
    cohorts: list[Json] = []
    for index, name in enumerate(names):
        spec: Json = {"fairSharing": {"weight": rng.choice(("1", "1", "2", "0.5"))}}
        if index:
            spec["parentName"] = rng.choice(names[:index])
        if rng.random() < 0.4:
            spec["resourceGroups"] = [group(rng, flavors, resources, limits=index > 0)]
        cohorts.append({"name": name, "spec": spec})
    return cohorts


def queue(rng: Random, cohort: str, flavors: list[str], resources: list[str]) -> Json:
    """Return a ClusterQueue's spec."""
    spec: Json = {
        "queueingStrategy": rng.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
        "resourceGroups": [group(rng, flavors, resources, limits=bool(cohort))],
        "preemption": preemption(rng, cohort),
        "flavorFungibility": fungibility(rng),
        "fairSharing": {"weight": rng.choice(WEIGHTS)},
    }
    if cohort:
        spec["cohortName"] = cohort
    return spec


def group(rng: Random, flavors: list[str], resources: list[str], *, limits: bool) -> Json:
    """Return a resource group of some of the flavors; ``limits``: for borrowing and lending."""
    chosen = rng.sample(flavors, rng.randint(1, len(flavors)))
    return {
        "coveredResources": resources,
        "flavors": [
            {
                "name": name,
                "resources": [_quota(rng, resource, limits=limits) for resource in resources],
            }
            for name in chosen
        ],
    }


def _quota(rng: Random, resource: str, *, limits: bool) -> Json:
    unit = "" if resource == "cpu" else "Gi"
    fields: Json = {"name": resource, "nominalQuota": f"{rng.choice(QUOTAS_CPU)}{unit}"}
    if limits and rng.random() < 0.3:
        fields["borrowingLimit"] = f"{rng.choice((0, 2, 4, 8))}{unit}"
    if limits and rng.random() < 0.3:
        fields["lendingLimit"] = f"{rng.choice((0, 2, 4))}{unit}"
    return fields


def preemption(rng: Random, cohort: str) -> Json:
    """Return a ClusterQueue's preemption policies."""
    fields: Json = {
        "withinClusterQueue": rng.choice(
            ("Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority")
        ),
        "reclaimWithinCohort": rng.choice(("Never", "LowerPriority", "Any", "Any")),
    }
    if cohort and fields["reclaimWithinCohort"] != "Never" and rng.random() < 0.4:
        fields["borrowWithinCohort"] = {"policy": "LowerPriority"}
        if rng.random() < 0.5:
            fields["borrowWithinCohort"]["maxPriorityThreshold"] = rng.choice((99, 100, 500))
    return fields


def fungibility(rng: Random) -> Json:
    """Return when the search over flavors may stop."""
    fields: Json = {
        "whenCanBorrow": rng.choice(("MayStopSearch", "TryNextFlavor")),
        "whenCanPreempt": rng.choice(("MayStopSearch", "TryNextFlavor")),
    }
    if rng.random() < 0.3:
        fields["preference"] = rng.choice(("BorrowingOverPreemption", "PreemptionOverBorrowing"))
    return fields


def workload(rng: Random, index: int, queues: list[str], resources: list[str]) -> Json:
    """Return a workload of one or two podsets in one of the queues."""
    podsets = [_podset(rng, "main", resources)]
    if rng.random() < 0.15:
        podsets.append(_podset(rng, "extra", resources))
    elif podsets[0]["count"] > 1 and rng.random() < 0.5:
        podsets[0]["minCount"] = rng.randint(1, podsets[0]["count"] - 1)
    return {
        "name": f"w{index:02}",
        "queue": f"lq-{rng.choice(queues)}",
        "priority": rng.choice(PRIORITIES),
        "created": rng.randint(0, 60),
        "podSets": podsets,
    }


def _podset(rng: Random, name: str, resources: list[str]) -> Json:
    count = rng.choice((1, 1, 1, 2, 3))
    requests = {
        resource: _amount(rng, resource)
        for resource in resources
        if resource == "cpu" or rng.random() < 0.8
    }
    return {"name": name, "count": count, "requests": requests}


def _amount(rng: Random, resource: str) -> str:
    return f"{rng.choice((1, 2, 2, 3, 4, 6))}" + ("" if resource == "cpu" else "Gi")
