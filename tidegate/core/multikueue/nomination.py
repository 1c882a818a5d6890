"""Which clusters may have a copy of a workload: all at once, or a few more each round.

Source: multikueue.md 2.4.
"""

from __future__ import annotations

from tidegate.core.multikueue.check import is_connected, is_open
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State
from tidegate.model.multikueue import ROUND_US, MultiKueuePolicy


def askable(state: State, dispatch: Dispatch, configured: tuple[str, ...]) -> tuple[str, ...]:
    """Return the clusters that may be asked at all, of those that a check's configuration has.

    Those that are held are not; an external dispatcher leaves those that it wrote down, in its
    order.
    """
    named = dispatch.proposed if is_external(state) else configured
    return tuple(cluster for cluster in named if cluster in configured and is_open(state, cluster))


def is_external(state: State) -> bool:
    """Tell whether nominations are written by an external dispatcher."""
    policy = state.policy.multikueue
    return policy is not None and policy.dispatcher == "External"


def nominees(state: State, dispatch: Dispatch, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return all clusters that may have a copy by now, of those that the check may use.

    A cluster is never asked anew while it still has to give an older copy back.
    """
    policy = state.policy.multikueue or MultiKueuePolicy()
    if policy.dispatcher == "AllAtOnce":
        nominated = {cluster for cluster in allowed if is_connected(state, cluster)} | {
            *dispatch.nominated
        }
        return tuple(sorted(nominated - {*dispatch.leaving}))
    if policy.dispatcher == "External":
        return tuple(cluster for cluster in allowed if cluster not in dispatch.leaving)
    candidates = [
        cluster
        for cluster in allowed
        if cluster not in dispatch.nominated and cluster not in dispatch.leaving
    ]
    runs = dispatch.nominated and state.now_us < dispatch.round_us + ROUND_US
    return (
        dispatch.nominated
        if runs or not candidates
        else (*dispatch.nominated, *candidates[: policy.step])
    )
