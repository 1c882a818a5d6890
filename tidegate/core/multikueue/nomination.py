"""Which clusters may have a copy of a workload: all at once, or a few more each round.

Source: multikueue.md 2.4.
"""

from __future__ import annotations

from tidegate.core.multikueue.check import is_connected
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State
from tidegate.model.multikueue import ROUND_US, MultiKueuePolicy


def nominees(state: State, sent: Dispatch, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return all clusters that may have a copy by now, of those that the check may use.

    A cluster is never asked anew while it still has to give an older copy back.
    """
    policy = state.policy.multikueue or MultiKueuePolicy()
    if policy.dispatcher == "AllAtOnce":
        found = {one for one in allowed if is_connected(state, one)} | {*sent.nominated}
        return tuple(sorted(found - {*sent.leaving}))
    left = [one for one in allowed if one not in sent.nominated and one not in sent.leaving]
    runs = sent.nominated and state.now_us < sent.round_us + ROUND_US
    return sent.nominated if runs or not left else (*sent.nominated, *left[: policy.step])
