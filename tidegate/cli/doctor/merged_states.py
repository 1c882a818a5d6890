"""The states of several partitions as one to look things up in: nothing is decided on it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import fields

from tidegate.core.state.state import Objects, State


def merge_states(states: Sequence[State]) -> State:
    """Return a state with the workloads and definitions of all partitions.

    Of what all know, as LocalQueues and flavors, that of the first counts. Of a job that changes
    the partition it is the workload that was submitted last.
    """
    if len(states) == 1:
        return states[0]
    first, objects = states[0], Objects()
    for field in fields(Objects):
        merged = getattr(objects, field.name)
        for state in reversed(states):
            merged.update(getattr(state.objects, field.name))
    objects.elsewhere.clear()
    union = State(
        ledger_id=first.ledger_id,
        cluster=first.cluster,
        policy=first.policy,
        objects=objects,
        expected=first.expected,
        rounds=first.rounds,
        now_us=max(state.now_us for state in states),
    )
    for state in sorted(states, key=lambda each: each.now_us):
        union.workloads.update(state.workloads)
        union.by_uid.update(state.by_uid)
    return union
