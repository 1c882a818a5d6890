"""What a pod is charged: recorded cases read as data, and the rules one by one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.cases import DATA, Json, read
from tests.conformance.pods import podset
from tests.parts.drawn import drawn
from tidegate.contracts.facts import LimitRangeDefined, RuntimeClassDefined
from tidegate.contracts.observations import LimitRangeItem
from tidegate.core.quota.requests import (
    adjusted_podset,
    placement_requests,
    pod_requests,
    validate_podset,
)
from tidegate.core.state.state import Objects
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy, Transformation
from tidegate.model.quantity import UNLIMITED, parse_quantity

ADJUSTED = sorted((DATA / "adjust-resources").glob("*.json"))
PENDING = [
    path
    for path in sorted((DATA / "workload-info").glob("*.json"))
    if "admission" not in read(path, "workload-info").input["workload"].get("status", {})
]
ONE = Policy()
NONE = Objects()


@pytest.mark.parametrize("path", ADJUSTED, ids=lambda path: path.stem)
def test_defaults_and_overhead_are_filled_in_as_recorded(path: Path) -> None:
    case = read(path, "adjust-resources")
    pod_sets = case.input["workload"]["spec"]["podSets"]
    wanted = case.expected["workload"]["spec"]["podSets"]
    for before, after in zip(pod_sets, wanted, strict=True):
        actual_podset = adjusted_podset(objects(case.input), "", podset(before))
        assert amounts(actual_podset) == amounts(podset(after)), before["name"]


@pytest.mark.parametrize("path", PENDING, ids=lambda path: path.stem)
def test_a_pending_workload_is_charged_as_recorded(path: Path) -> None:
    case = read(path, "workload-info")
    for value, result in zip(
        case.expected["totalRequests"], case.input["workload"]["spec"]["podSets"], strict=True
    ):
        each = pod_requests(NONE, "", podset(result), policy(case.input))
        total = {name: min(UNLIMITED, units * value["count"]) for name, units in each.items()}
        assert total == value.get("requests", {})


def objects(document: Json) -> Objects:
    ranges = {
        f"/{obj['metadata']['name']}": LimitRangeDefined(
            at_us=0, name=obj["metadata"]["name"], items=tuple(map(item, obj["spec"]["limits"]))
        )
        for obj in document.get("limitRanges", ())
    }
    classes = {
        obj["metadata"]["name"]: RuntimeClassDefined(
            at_us=0,
            name=obj["metadata"]["name"],
            overhead=obj.get("overhead", {}).get("podFixed", {}),
        )
        for obj in document.get("runtimeClasses", ())
    }
    return Objects(limit_ranges=ranges, runtime_classes=classes)


def item(document: Json) -> LimitRangeItem:
    return LimitRangeItem(
        type=document["type"],
        default=document.get("default", {}),
        default_request=document.get("defaultRequest", {}),
        max=document.get("max", {}),
        min=document.get("min", {}),
    )


def policy(document: Json) -> Policy:
    return Policy(
        exclude_resource_prefixes=tuple(document.get("excludedResourcePrefixes", ())),
        transformations=tuple(
            Transformation(
                input=transformation["input"],
                strategy=transformation.get("strategy", "Retain"),
                multiply_by=transformation.get("multiplyBy", ""),
                outputs=transformation.get("outputs", {}),
            )
            for transformation in document.get("resourceTransformations", ())
        ),
    )


def amounts(actual_podset: PodSet) -> Json:
    pod = () if actual_podset.pod_resources is None else (actual_podset.pod_resources,)
    each = (*actual_podset.containers, *actual_podset.init_containers, *pod)
    values = [(by_value(container.requests), by_value(container.limits)) for container in each]
    return {"containers": values, "overhead": by_value(actual_podset.overhead)}


def by_value(obj: dict[str, str]) -> dict[str, Fraction]:
    return {name: parse_quantity(text) for name, text in obj.items()}


def asks(*cpus: str, sidecar: bool = False) -> tuple[Container, ...]:
    return tuple(Container(requests={"cpu": cpu}, sidecar=sidecar) for cpu in cpus)


def charged(actual_podset: PodSet, within: Objects = NONE) -> int:
    return pod_requests(within, "team", actual_podset, ONE)["cpu"]


def test_containers_add_up_and_the_largest_init_container_counts_alone() -> None:
    assert charged(PodSet(containers=asks("1", "500m"))) == 1_500
    assert charged(PodSet(containers=asks("1"), init_containers=asks("3", "2"))) == 3_000


def test_a_sidecar_runs_beside_what_comes_after_it() -> None:
    sidecar = asks("1", sidecar=True)
    assert charged(PodSet(containers=asks("1"), init_containers=sidecar)) == 2_000
    assert charged(PodSet(containers=asks("1"), init_containers=sidecar + asks("5"))) == 6_000
    assert charged(PodSet(containers=asks("1"), init_containers=asks("5") + sidecar)) == 5_000


def test_pod_level_requests_replace_the_sum_and_overhead_comes_on_top() -> None:
    pod = Container(requests={"cpu": "4", "gpu": "9"})
    actual_podset = PodSet(containers=asks("1"), pod_resources=pod, overhead={"cpu": "250m"})
    assert pod_requests(NONE, "team", actual_podset, ONE) == {"cpu": 4_250}


def test_fractions_are_added_before_they_are_rounded_up() -> None:
    assert charged(PodSet(containers=asks("100u", "100u", "100u"))) == 1


def test_a_limit_stands_in_for_a_missing_request() -> None:
    assert charged(PodSet(containers=(Container(limits={"cpu": "2"}),))) == 2_000


def test_a_limit_range_of_another_namespace_adds_nothing() -> None:
    within = limit_range("other", default_request={"cpu": "1"})
    assert pod_requests(within, "team", PodSet(containers=(Container(),)), ONE) == {}


def test_placement_knows_no_exclusions_and_no_transformations() -> None:
    actual_podset = PodSet(containers=(Container(requests={"gpu": "2", "net/vpc": "1"}),))
    rule = Transformation(input="gpu", strategy="Replace", outputs={"credit": "3"})
    actual_policy = Policy(exclude_resource_prefixes=("net/",), transformations=(rule,))
    assert pod_requests(NONE, "team", actual_podset, actual_policy) == {"credit": 6}
    assert placement_requests(NONE, "team", actual_podset) == {"gpu": 2, "net/vpc": 1}


@pytest.mark.parametrize(
    ("factors", "charged_credits"),
    [
        ({"b": "0.0000000001"}, 2),  # read as 1e-9
        ({"b": "0.0000000011"}, 4),
        ({"a": "5", "b": "-0.0000000001"}, 8),
        ({"a": "2G", "b": "-0.9999999999"}, 2_000_000_000),
    ],
)
def test_a_factor_finer_than_a_billionth_is_rounded_away_from_zero(
    factors: dict[str, str], charged_credits: int
) -> None:
    """Source: Kubernetes' ParseQuantity, with which Kueue's configuration is read."""
    rules = tuple(
        Transformation(input=name, strategy="Replace", outputs={"credit": factor})
        for name, factor in factors.items()
    )
    podset = PodSet(containers=(Container(requests={"a": "2", "b": "2G"}),))
    requests = pod_requests(NONE, "team", podset, Policy(transformations=rules))
    assert requests["credit"] == charged_credits


def limit_range(namespace: str, kind: str = "Container", **bounds: dict[str, str]) -> Objects:
    items = (LimitRangeItem(type=kind, **bounds),)
    defined = LimitRangeDefined(at_us=0, name="l", namespace=namespace, items=items)
    return Objects(limit_ranges={f"{namespace}/l": defined})


@pytest.mark.parametrize(
    ("bounds", "kind", "text"),
    [
        ({"max": {"cpu": "1"}}, "Container", "maximum for containers"),
        ({"min": {"cpu": "3"}}, "Container", "minimum for containers"),
        ({"max": {"cpu": "3"}}, "Pod", "maximum for pods"),
        ({"min": {"cpu": "5"}}, "Pod", "minimum for pods"),
        ({"max": {"cpu": "4"}, "min": {"cpu": "4"}}, "Pod", ""),
        ({"max": {"memory": "1"}, "min": {"memory": "1"}}, "Container", ""),
    ],
)
def test_a_limit_range_bounds_containers_and_pods(
    bounds: dict[str, dict[str, str]], kind: str, text: str
) -> None:
    message = validate_podset(
        limit_range("team", kind, **bounds), "team", PodSet(containers=asks("2", "2"))
    )
    assert (text in message) if text else (message == "")


def test_no_container_may_request_more_than_its_limit() -> None:
    greedy = Container(requests={"cpu": "2"}, limits={"cpu": "1"})
    assert "limits allow of cpu" in validate_podset(NONE, "team", PodSet(containers=(greedy,)))


def test_what_is_no_quantity_is_named_and_counts_nothing() -> None:
    actual_podset = PodSet(containers=asks("1", "two"))
    assert "'two'" in validate_podset(NONE, "team", actual_podset)
    assert charged(actual_podset) == 1_000


@drawn(100)
@given(st.lists(st.integers(0, 10**12), max_size=5), st.lists(st.integers(0, 10**12), max_size=5))
def test_a_pod_is_charged_its_sum_or_its_largest_init_container(
    containers: list[int], inits: list[int]
) -> None:
    actual_podset = PodSet(
        containers=asks(*(f"{nano}n" for nano in containers)),
        init_containers=asks(*(f"{nano}n" for nano in inits)),
    )
    highest = max(sum(containers), *inits, 0)
    cpu = pod_requests(NONE, "team", actual_podset, ONE).get("cpu", 0)
    assert cpu == -(-highest // 1_000_000)
