"""A guaranteed time ends with the event that says so, whatever else moves the clock before."""

from __future__ import annotations

from msgspec.structs import replace

from bench.virtual.loads import NAMESPACE, Arrival, beginning, queue, submitted
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, StopOrdered
from tidegate.core.decide import VERSION, decide
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.state import State
from tidegate.model.policy import Policy

SECOND_US = 1_000_000
LEAST_US = 10 * SECOND_US


def waiting() -> State:
    """Return a state in which one waits until another's guaranteed time is over."""
    state = State()
    policy = facts.PolicyConfigured(at_us=0, name="policy", policy=Policy(rules=VERSION))
    small, large = (
        submitted(Arrival(at_us=at, name=name, queue=0, cpu=20, priority=priority, run_us=0))
        for at, name, priority in ((SECOND_US, "small", 1), (2 * SECOND_US, "large", 2))
    )
    defined, local = queue(0, cohort="")
    assert isinstance(defined, facts.ClusterQueueDefined)
    spec = replace(defined.spec, min_runtime_us=LEAST_US)
    for fact in (*beginning("tidegate", fair=False), policy, replace(defined, spec=spec), local):
        apply(state, fact)
    for fact in (small, large):
        apply(state, fact)
        decide(state)
    return state


def later(state: State) -> list[DecisionEvent]:
    """Return what is decided when the one that runs tells something, after its time."""
    key = f"{NAMESPACE}/small"
    event = facts.PodsReadyReported(at_us=20 * SECOND_US, workload=key, uid="small", ready=True)
    apply(state, event)
    assert decide(state) == []
    return decide(decode(encode(state)))


def test_it_is_not_over_before_that_is_reported() -> None:
    state = waiting()
    assert later(state) == []
    apply(state, facts.TimePassed(at_us=21 * SECOND_US))
    assert any(isinstance(decision, StopOrdered) for decision in decide(state))
