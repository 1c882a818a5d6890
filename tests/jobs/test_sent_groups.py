"""Groups of pods that were sent to this cluster, or from it to a worker cluster."""

from __future__ import annotations

import pytest

from tests.jobs.test_pod_groups import KUEUE, pod, seen, with_meta
from tidegate.errors import UndecodableError

PREBUILT = f"{KUEUE}/prebuilt-workload-name"


def test_a_group_names_a_prebuilt_workload_once_it_is_whole_and_its_pods_agree() -> None:
    pods = [with_meta(pod(at), annotations={PREBUILT: "w"}) for at in (1, 2)]
    assert seen(*pods).prebuilt == "w"
    lacking = seen(pods[0])
    assert (lacking.queue, lacking.prebuilt) == ("", "")
    assert lacking.workload != seen(pod(1)).workload == seen(*pods).workload
    with pytest.raises(UndecodableError, match="name the same"):
        seen(pods[0], pod(2))


def test_a_group_whose_pods_ended_behind_their_gates_is_over_once_all_have() -> None:
    """They ran in a worker cluster, whose status was copied to them."""
    final = {f"{KUEUE}/retriable-in-group": "false"}
    failed = with_meta(pod(1, phase="Failed"), annotations=final)
    gate = {"spec": {**failed["spec"], "schedulingGates": [{"name": f"{KUEUE}/admission"}]}}
    elsewhere = {**failed, **gate}
    assert not seen(elsewhere, pod(2)).finished
    assert seen(elsewhere, pod(2, phase="Failed")).finished
