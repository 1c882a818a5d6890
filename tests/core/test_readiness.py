"""Whether a ClusterQueue admits, and what it says if not: each time that changes, and no other."""

from __future__ import annotations

import pytest

from tidegate.contracts.decisions import ClusterQueueReadinessChanged
from tidegate.contracts.facts import (
    CheckDefined,
    CheckRemoved,
    ClusterQueueDefined,
    FactEvent,
    FlavorDefined,
    LedgerOpened,
    WatchesExpected,
)
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.quota.readiness import readiness
from tidegate.core.state.state import State, Stop
from tidegate.model.quota import (
    CheckRule,
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    Quota,
    ResourceGroup,
)

MULTIKUEUE, PROVISIONING = "kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/provisioning-request"


def check(name: str, controller: str = "example.com/budget", *, active: bool = True) -> FactEvent:
    return CheckDefined(at_us=1, name=name, controller=controller, active=active)


def queue(*checks: CheckRule, flavor: str = "spot") -> FactEvent:
    quotas = FlavorQuotas(flavor=flavor, quotas={"cpu": Quota(nominal=1_000)})
    groups = (ResourceGroup(resources=("cpu",), flavors=(quotas,)),)
    return ClusterQueueDefined(
        at_us=1, name="q", spec=ClusterQueueSpec(groups=groups, checks=checks)
    )


def tell(state: State, *facts: FactEvent) -> tuple[str, str]:
    """Fold facts and return the reason and message that are reported then; empty: nothing is."""
    for fact in facts:
        apply(state, fact)
    decisions = [
        decision for decision in decide(state) if isinstance(decision, ClusterQueueReadinessChanged)
    ]
    assert all(decision.active == (decision.reason == "Ready") for decision in decisions)
    return (decisions[0].reason, decisions[0].message) if decisions else ("", "")


@pytest.fixture
def state() -> State:
    """Return a state that waits for no list and knows one flavor."""
    opened = State()
    for fact in (
        LedgerOpened(at_us=0, ledger_id="ledger-1"),
        WatchesExpected(at_us=0, resources=()),
        FlavorDefined(at_us=0, name="spot", spec=FlavorSpec()),
    ):
        apply(opened, fact)
    return opened


def test_a_queue_with_a_multikueue_check_is_inactive_and_says_why(state: State) -> None:
    # Another controller may have left the check with Active=True.
    row = tell(state, check("far", MULTIKUEUE), queue(CheckRule(name="far")))
    text = "AdmissionCheck far needs multiKueue in the configuration."
    assert row == ("AdmissionCheckInactive", text)


def test_a_queue_admits_once_its_multikueue_check_is_taken_away(state: State) -> None:
    tell(state, check("far", MULTIKUEUE), queue(CheckRule(name="far")))
    assert tell(state, queue())[0] == "Ready"


@pytest.mark.parametrize(
    ("checks", "rules", "text"),
    [
        ((("a", MULTIKUEUE), ("b", MULTIKUEUE)), {"a": (), "b": ()}, "Only one check"),
        ((("a", MULTIKUEUE),), {"a": ("other",)}, "take its onFlavors away"),
        ((("a", MULTIKUEUE), ("b", PROVISIONING)), {"a": (), "b": ()}, "do not go together"),
    ],
)
def test_what_else_is_wrong_with_multikueue_checks_is_said_too(
    state: State,
    checks: tuple[tuple[str, str], ...],
    rules: dict[str, tuple[str, ...]],
    text: str,
) -> None:
    named = [CheckRule(name=name, on_flavors=flavors) for name, flavors in rules.items()]
    _, message = tell(state, *(check(*each) for each in checks), queue(*named))
    assert text in message


def test_a_queue_with_an_unknown_check_is_inactive_until_it_comes(state: State) -> None:
    row = tell(state, queue(CheckRule(name="budget")))
    assert row == ("AdmissionCheckNotFound", "There is no AdmissionCheck budget.")
    row = tell(state, check("budget", active=False))
    assert row == ("AdmissionCheckInactive", "AdmissionCheck budget is not active.")
    assert tell(state, check("budget"))[0] == "Ready"
    assert tell(state, CheckRemoved(at_us=1, name="budget"))[0] == "AdmissionCheckNotFound"


def test_the_message_is_reported_again_when_only_it_changes(state: State) -> None:
    rules = CheckRule(name="a"), CheckRule(name="b")
    assert tell(state, queue(*rules))[1] == "There is no AdmissionCheck a, b."
    row = tell(state, check("a"))
    assert row == ("AdmissionCheckNotFound", "There is no AdmissionCheck b.")
    assert tell(state, queue(*rules)) == ("", "")


def test_everything_that_is_wrong_is_in_the_message_and_the_first_is_the_reason(
    state: State,
) -> None:
    reason, message = tell(state, queue(CheckRule(name="budget"), flavor="gone"))
    assert reason == "FlavorNotFound"
    assert message == "There is no ResourceFlavor gone. There is no AdmissionCheck budget."


def test_a_stopped_queue_says_which_user_stopped_it_though_another_changes_it_later() -> None:
    state = State()
    apply(state, LedgerOpened(at_us=0, ledger_id="l"))
    held = ClusterQueueSpec(stop_policy="Hold")
    for at_us, author in ((7, "alice"), (8, "bob")):
        apply(state, ClusterQueueDefined(at_us=at_us, name="q", spec=held, author=author))
        held = ClusterQueueSpec(stop_policy="Hold", cohort="other")
    assert readiness(state, "q").message == "Its stopPolicy is Hold, set by alice."
    assert state.objects.stops["q"] == Stop(at_us=7, by="alice")
    apply(state, ClusterQueueDefined(at_us=9, name="q", spec=ClusterQueueSpec()))
    assert state.objects.stops == {}


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (
            [FlavorDefined(at_us=1, name="spot", spec=FlavorSpec(topology="racks")), queue()],
            "ResourceFlavor spot has a topology: only partition 0 places pods.",
        ),
        (
            [check("far", MULTIKUEUE), queue(CheckRule(name="far"))],
            "AdmissionCheck far is of MultiKueue: it needs partition 0.",
        ),
    ],
)
def test_what_partition_0_alone_does_is_refused_elsewhere(
    state: State, facts: list[FactEvent], text: str
) -> None:
    state.partition = 2
    reason, message = tell(state, *facts)
    assert reason == "NotInThisPartition"
    assert message.startswith(text)
