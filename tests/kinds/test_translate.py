"""Kueue's objects in the core's words; what cannot be read names its field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.cluster import DATA, documents
from tests.parts.drawn import drawn
from tidegate.errors import QuantityError, UndecodableError
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.flavors import ResourceFlavor
from tidegate.kinds.kueue_api.prices import read_prices
from tidegate.kinds.kueue_api.queues import conversion, own_annotations
from tidegate.kinds.kueue_api.queues.objects import ClusterQueue, Cohort, LocalQueue
from tidegate.kinds.kueue_api.queues.own_annotations import partition_of
from tidegate.kinds.meta import LabelSelector, ObjectMeta
from tidegate.kinds.names import PARTITION
from tidegate.model import podset, quota
from tidegate.model.quota import Budget, Price

GIB = 2**30


def sample(name: str, place: int = 0) -> Any:  # noqa: ANN401 - a manifest
    return documents(DATA / "samples" / Path(f"v1beta2/{name}.yaml"))[place]


def queue(**spec: Any) -> ClusterQueue:  # noqa: ANN401 - fields of a spec
    return read({"spec": spec}, ClusterQueue)


def group(**amounts: object) -> list[dict[str, Any]]:
    resource = {"name": "cpu", "nominalQuota": 1} | amounts
    flavor = {"name": "spot", "resources": [resource]}
    return [{"coveredResources": ["cpu"], "flavors": [flavor]}]


def test_a_cluster_queue_without_a_spec_gives_nothing() -> None:
    spec = conversion.cluster_queue_spec(read(sample("clusterqueues"), ClusterQueue))
    assert spec == quota.ClusterQueueSpec()


def test_amounts_are_integers_in_base_units() -> None:
    spec = conversion.cluster_queue_spec(read(sample("clusterqueues", 1), ClusterQueue))
    first, second = spec.groups[0].flavors
    assert first.quotas == {
        "cpu": quota.Quota(nominal=40_000, borrowing_limit=20_000),
        "memory": quota.Quota(nominal=160 * GIB),
        "nvidia.com/gpu": quota.Quota(nominal=8, lending_limit=4),
    }
    assert {name: actual_quota.nominal for name, actual_quota in second.quotas.items()} == {
        "cpu": 4_500,
        "memory": 16_000_000_000,
        "nvidia.com/gpu": 0,
    }


def test_the_policy_of_a_cluster_queue_comes_through() -> None:
    spec = conversion.cluster_queue_spec(read(sample("clusterqueues", 1), ClusterQueue))
    assert (spec.cohort, spec.strategy, spec.stop_policy) == ("lab", "StrictFIFO", "Hold")
    assert (spec.weight, spec.usage_based_admission) == (500_000_000, True)
    assert spec.min_runtime_us == 600_000_000
    assert spec.budgets == (
        Budget(resource="cpu", hours=1_000_000, period="month", hard=True),
        Budget(resource="nvidia.com/gpu", hours=40, period="week"),
    )
    assert spec.preemption == quota.Preemption(
        within_cluster_queue="LowerOrNewerEqualPriority",
        reclaim_within_cohort="Any",
        borrow_within_cohort="LowerPriority",
        borrow_max_priority=100,
    )
    assert spec.fungibility == quota.FlavorFungibility(
        when_can_borrow="TryNextFlavor",
        when_can_preempt="TryNextFlavor",
        preference="PreemptionOverBorrowing",
    )


def test_checks_and_the_selector_of_a_cluster_queue_come_through() -> None:
    spec = conversion.cluster_queue_spec(read(sample("clusterqueues", 1), ClusterQueue))
    assert spec.checks == (
        quota.CheckRule(name="budget"),
        quota.CheckRule(name="capacity", on_flavors=("spot",)),
    )
    assert spec.namespace_selector == podset.LabelSelector(
        labels={"team": "research"},
        expressions=(
            podset.Requirement(key="stage", operator="NotIn", values=("trial",)),
            podset.Requirement(key="owner", operator="Exists"),
        ),
    )


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert conversion.label_selector(None) is None
    assert conversion.label_selector(LabelSelector()) == podset.LabelSelector()


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"resourceGroups": group(nominalQuota="lots")}, "resources[0].nominalQuota: 'lots'"),
        ({"resourceGroups": group(nominalQuota="-1")}, "resources[0].nominalQuota: -1"),
        ({"resourceGroups": group(borrowingLimit="1Xi")}, "resources[0].borrowingLimit: '1Xi'"),
        ({"resourceGroups": group(lendingLimit=-2)}, "resources[0].lendingLimit: -2"),
        ({"fairSharing": {"weight": "heavy"}}, "spec.fairSharing.weight: 'heavy'"),
        ({"fairSharing": {"weight": "-1"}}, "spec.fairSharing.weight: -1"),
    ],
)
def test_an_amount_that_cannot_be_read_names_its_field(spec: Any, field: str) -> None:  # noqa: ANN401
    with pytest.raises(UndecodableError) as caught:
        conversion.cluster_queue_spec(queue(**spec))
    assert field in str(caught.value)


def test_a_minimum_run_time_that_cannot_be_read_names_its_annotation() -> None:
    named = {"metadata": {"annotations": {"tidegate.dev/min-runtime": "soon"}}}
    with pytest.raises(UndecodableError, match=r"annotations\[tidegate.dev/min-runtime\]: 'soon'"):
        conversion.cluster_queue_spec(read(named, ClusterQueue))


@pytest.mark.parametrize(
    ("text", "number"), [(None, 0), ("0", 0), ("7", 7), ("12", 12), ("999", 999)]
)
def test_a_partition_is_a_number(text: str | None, number: int) -> None:
    annotations = {} if text is None else {PARTITION: text}
    assert partition_of(ObjectMeta(annotations=annotations)) == number


@pytest.mark.parametrize(
    "text", ["", "1000", "-1", "01", " 1", "1\n", "one", "1.0", "²", "9" * 5_000]
)
def test_what_is_no_partition_is_refused_and_named_in_short(text: str) -> None:
    with pytest.raises(UndecodableError, match="is no number from 0 to 999") as caught:
        partition_of(ObjectMeta(annotations={PARTITION: text}))
    assert len(str(caught.value)) < len(PARTITION) + 100


@pytest.mark.parametrize(
    ("weight", "units"),
    [
        (0, 0),
        (1, 10**9),
        ("0.5", 5 * 10**8),
        ("2n", 2),
        (0.25, 25 * 10**7),
        ("10G", 2**63 - 1),  # a database holds no more
    ],
)
def test_a_weight_counts_in_billionths(weight: object, units: int) -> None:
    assert conversion.cluster_queue_spec(queue(fairSharing={"weight": weight})).weight == units


def test_a_cohort_comes_through() -> None:
    cohort_spec = conversion.cohort_spec(read(sample("cohorts", 1), Cohort))
    cpu = quota.Quota(nominal=10_000, borrowing_limit=5_000, lending_limit=20_000)
    flavor = quota.FlavorQuotas(flavor="spot", quotas={"cpu": cpu})
    groups = (quota.ResourceGroup(resources=("cpu",), flavors=(flavor,)),)
    assert cohort_spec == quota.CohortSpec(parent="lab", groups=groups, weight=0)


def test_a_local_queue_comes_through() -> None:
    spec = conversion.local_queue_spec(read(sample("localqueues"), LocalQueue))
    weight = 2 * quota.WEIGHT_ONE
    assert spec == quota.LocalQueueSpec(cluster_queue="research", stop_policy="Hold", weight=weight)


def test_a_flavor_comes_through() -> None:
    flavor_spec = conversion.flavor_spec(read(sample("resourceflavors", 1), ResourceFlavor))
    assert flavor_spec.topology == "racks"
    assert flavor_spec.node_labels == {"cloud.example.com/lifecycle": "spot", "pool": "7"}
    assert flavor_spec.node_taints == (
        podset.Taint(key="spot", value="true", effect="NoSchedule"),
        podset.Taint(key="spot", effect="NoExecute"),
    )
    assert flavor_spec.tolerations == (
        podset.Toleration(key="spot", operator="Exists", effect="NoExecute", seconds=60),
        podset.Toleration(key="pool", value="7"),
        podset.Toleration(operator="Exists", effect="PreferNoSchedule"),
    )


def test_a_statement_that_is_none_is_refused_and_named() -> None:
    annotations = {"tidegate.dev/statement": "2026-03=" + "9f" * 32}
    queue = read({"metadata": {"annotations": annotations}}, ClusterQueue)
    assert own_annotations.statement_of(queue.metadata) == annotations["tidegate.dev/statement"]
    assert own_annotations.statement_of(read({}, ClusterQueue).metadata) == ""
    for text in ("2026-03", "2026-00=" + "9f" * 32, "march=" + "9f" * 32, "2026-03=" + "9F" * 32):
        wrong = read({"metadata": {"annotations": {"tidegate.dev/statement": text}}}, ClusterQueue)
        with pytest.raises(UndecodableError, match=r"tidegate\.dev/statement"):
            own_annotations.statement_of(wrong.metadata)


HOSTILE = (
    "cpu",
    "cpu=",
    "cpu=1/year",
    "cpu=1/month very",
    "cpu=-1/month",
    "cpu=1..2/month",
    "cpu=9999999999999999999E/month",
    "cpu=1/day,cpu=2/week",
    "cpu=1/day,",
    "cpu=\u0661/day",
    "a\nb=1/day",
    ",".join(f"r{number}=1/day" for number in range(17)),
    "cpu=1/day" + " " * 1_024,
    "é=1/day",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_budget_that_cannot_be_read_is_refused_and_named(text: str) -> None:
    obj = {"metadata": {"annotations": {"tidegate.dev/budget": text}}}
    with pytest.raises(UndecodableError, match=r"tidegate\.dev/budget"):
        conversion.cluster_queue_spec(read(obj, ClusterQueue))
    with pytest.raises(UndecodableError, match=r"tidegate\.dev/budget"):
        conversion.cohort_spec(read(obj, Cohort))


@drawn(300)
@given(
    st.text(max_size=60)
    | st.from_regex(r"[a-z]{1,5}=[0-9.]{1,22}[A-Za-z]{0,3}/(day|week|year)( hard)?")
)
def test_whatever_text_a_budget_is_it_is_read_whole_or_refused(text: str) -> None:
    try:
        budgets = own_annotations.read_budgets(text)
    except QuantityError:
        return
    assert all(0 <= budget.hours <= own_annotations.HOURS_MAX for budget in budgets)
    assert own_annotations.read_budgets(",".join(map(written, budgets))) == budgets


def written(budget: Budget) -> str:
    unit = "m" if budget.resource == "cpu" else ""
    enforcement = "hard" if budget.hard else "soft"
    return f"{budget.resource}={budget.hours}{unit}/{budget.period} {enforcement}"


@drawn(300)
@given(
    st.text(max_size=60)
    | st.from_regex(
        r"(cpu|memory)=[0-9]{1,13}(\.[0-9]{1,3})? EUR(/Gi)?( borrowed)?( class [a-z]{1,3})?"
        r"( from 2026-0[0-9]-[0-3][0-9])?( until 2027-01-01)?"
    )
)
def test_whatever_text_a_price_is_it_is_read_whole_or_refused(text: str) -> None:
    try:
        prices = read_prices(text)
    except QuantityError:
        return
    assert all(float(price.cost) >= 0 for price in prices)
    assert read_prices(", ".join(map(priced, prices))) == prices


def priced(price: Price) -> str:
    parts = (
        f"{price.resource}={price.cost} {price.currency}" + ("/Gi" if price.units > 1 else ""),
        price.quota,
        f"class {price.priority_class}" if price.priority_class else "",
        f"from {price.begin}" if price.begin else "",
        f"until {price.end}" if price.end else "",
    )
    return " ".join(filter(None, parts))
