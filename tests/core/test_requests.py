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
from tidegate.core.quota.requests import adjusted, placement_requests, pod_requests, validate
from tidegate.core.state.state import Objects
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy, Transformation
from tidegate.model.quantity import UNLIMITED, parse

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
    told = case.input["workload"]["spec"]["podSets"]
    wanted = case.expected["workload"]["spec"]["podSets"]
    for before, after in zip(told, wanted, strict=True):
        found = adjusted(objects(case.input), "", podset(before))
        assert amounts(found) == amounts(podset(after)), before["name"]


@pytest.mark.parametrize("path", PENDING, ids=lambda path: path.stem)
def test_a_pending_workload_is_charged_as_recorded(path: Path) -> None:
    case = read(path, "workload-info")
    for told, one in zip(
        case.expected["totalRequests"], case.input["workload"]["spec"]["podSets"], strict=True
    ):
        each = pod_requests(NONE, "", podset(one), policy(case.input))
        total = {name: min(UNLIMITED, units * told["count"]) for name, units in each.items()}
        assert total == told.get("requests", {})


def objects(told: Json) -> Objects:
    ranges = {
        f"/{one['metadata']['name']}": LimitRangeDefined(
            at_us=0, name=one["metadata"]["name"], items=tuple(map(item, one["spec"]["limits"]))
        )
        for one in told.get("limitRanges", ())
    }
    classes = {
        one["metadata"]["name"]: RuntimeClassDefined(
            at_us=0,
            name=one["metadata"]["name"],
            overhead=one.get("overhead", {}).get("podFixed", {}),
        )
        for one in told.get("runtimeClasses", ())
    }
    return Objects(limit_ranges=ranges, runtime_classes=classes)


def item(told: Json) -> LimitRangeItem:
    return LimitRangeItem(
        type=told["type"],
        default=told.get("default", {}),
        default_request=told.get("defaultRequest", {}),
        max=told.get("max", {}),
        min=told.get("min", {}),
    )


def policy(told: Json) -> Policy:
    return Policy(
        exclude_resource_prefixes=tuple(told.get("excludedResourcePrefixes", ())),
        transformations=tuple(
            Transformation(
                input=one["input"],
                strategy=one.get("strategy", "Retain"),
                multiply_by=one.get("multiplyBy", ""),
                outputs=one.get("outputs", {}),
            )
            for one in told.get("resourceTransformations", ())
        ),
    )


def amounts(one: PodSet) -> Json:
    pod = () if one.pod_resources is None else (one.pod_resources,)
    each = (*one.containers, *one.init_containers, *pod)
    values = [(by_value(container.requests), by_value(container.limits)) for container in each]
    return {"containers": values, "overhead": by_value(one.overhead)}


def by_value(told: dict[str, str]) -> dict[str, Fraction]:
    return {name: parse(text) for name, text in told.items()}


def asks(*cpus: str, sidecar: bool = False) -> tuple[Container, ...]:
    return tuple(Container(requests={"cpu": cpu}, sidecar=sidecar) for cpu in cpus)


def charged(one: PodSet, within: Objects = NONE) -> int:
    return pod_requests(within, "team", one, ONE)["cpu"]


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
    one = PodSet(containers=asks("1"), pod_resources=pod, overhead={"cpu": "250m"})
    assert pod_requests(NONE, "team", one, ONE) == {"cpu": 4_250}


def test_fractions_are_added_before_they_are_rounded_up() -> None:
    assert charged(PodSet(containers=asks("100u", "100u", "100u"))) == 1


def test_a_limit_stands_in_for_a_missing_request() -> None:
    assert charged(PodSet(containers=(Container(limits={"cpu": "2"}),))) == 2_000


def test_a_limit_range_of_another_namespace_adds_nothing() -> None:
    within = limit_range("other", default_request={"cpu": "1"})
    assert pod_requests(within, "team", PodSet(containers=(Container(),)), ONE) == {}


def test_placement_knows_no_exclusions_and_no_transformations() -> None:
    one = PodSet(containers=(Container(requests={"gpu": "2", "net/vpc": "1"}),))
    rule = Transformation(input="gpu", strategy="Replace", outputs={"credit": "3"})
    told = Policy(exclude_resource_prefixes=("net/",), transformations=(rule,))
    assert pod_requests(NONE, "team", one, told) == {"credit": 6}
    assert placement_requests(NONE, "team", one) == {"gpu": 2, "net/vpc": 1}


def limit_range(namespace: str, kind: str = "Container", **bounds: dict[str, str]) -> Objects:
    items = (LimitRangeItem(type=kind, **bounds),)
    defined = LimitRangeDefined(at_us=0, name="l", namespace=namespace, items=items)
    return Objects(limit_ranges={f"{namespace}/l": defined})


@pytest.mark.parametrize(
    ("bounds", "kind", "said"),
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
    bounds: dict[str, dict[str, str]], kind: str, said: str
) -> None:
    told = validate(limit_range("team", kind, **bounds), "team", PodSet(containers=asks("2", "2")))
    assert (said in told) if said else (told == "")


def test_no_container_may_request_more_than_its_limit() -> None:
    greedy = Container(requests={"cpu": "2"}, limits={"cpu": "1"})
    assert "limits allow of cpu" in validate(NONE, "team", PodSet(containers=(greedy,)))


def test_what_is_no_quantity_is_named_and_counts_nothing() -> None:
    one = PodSet(containers=asks("1", "two"))
    assert "'two'" in validate(NONE, "team", one)
    assert charged(one) == 1_000


@drawn(100)
@given(st.lists(st.integers(0, 10**12), max_size=5), st.lists(st.integers(0, 10**12), max_size=5))
def test_a_pod_is_charged_its_sum_or_its_largest_init_container(
    containers: list[int], inits: list[int]
) -> None:
    one = PodSet(
        containers=asks(*(f"{nano}n" for nano in containers)),
        init_containers=asks(*(f"{nano}n" for nano in inits)),
    )
    highest = max(sum(containers), *inits, 0)
    found = pod_requests(NONE, "team", one, ONE).get("cpu", 0)
    assert found == -(-highest // 1_000_000)
