"""How long a simulated pod lives and how it ends: what its annotations say.

``simulate/seconds`` (default 2) and ``simulate/exit-code`` (default 0). A pod that is deleted while
it runs ends with 143. A pod ends when its containers do, whatever its restart policy.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

Object = dict[str, Any]
SECONDS, EXIT_CODE, SECONDS_DEFAULT = "simulate/seconds", "simulate/exit-code", "2"
KILLED = 143  # 128 + SIGTERM
_RUN_MAX_S = Decimal(10_000_000)
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,6})?")


def run_us_of(pod: Object) -> int:
    """Return how long a pod runs, in microseconds; what cannot be read is the default."""
    text = _annotation(pod, SECONDS, SECONDS_DEFAULT)
    seconds = Decimal(text if _SECONDS.fullmatch(text) else SECONDS_DEFAULT)
    return int(min(seconds, _RUN_MAX_S) * 1_000_000)


def exit_code_of(pod: Object) -> int:
    """Return with what a pod ends by itself; what cannot be read is 0."""
    text = _annotation(pod, EXIT_CODE, "0")
    return int(text) if text.isdecimal() else 0


def is_finished(pod: Object) -> bool:
    """Return whether a pod ended."""
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def running_status(pod: Object, began: str) -> Object:
    """Return the status fields of a pod that runs since a time."""
    state = {"running": {"startedAt": began}}
    return {"startTime": began, **_status(pod, "Running", state, began)}


def ended_status(pod: Object, exit_code: int, began: str, now: str) -> Object:
    """Return the status fields of a pod that ended."""
    ended = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}
    state = {"terminated": ended | {"startedAt": began, "finishedAt": now}}
    return _status(pod, "Failed" if exit_code else "Succeeded", state, now)


def _status(pod: Object, phase: str, state: Object, now: str) -> Object:
    ready = phase == "Running"
    conditions = {
        condition["type"]: condition for condition in pod["status"].get("conditions") or ()
    }
    for kind in ("Ready", "ContainersReady"):
        conditions[kind] = {"type": kind, "status": str(ready), "lastTransitionTime": now}
    containers = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": ready,
            "restartCount": 0,
            "state": state,
        }
        for container in pod["spec"]["containers"]
    ]
    return {
        "phase": phase,
        "conditions": list(conditions.values()),
        "containerStatuses": containers,
    }


def _annotation(pod: Object, name: str, default: str) -> str:
    text: str = (pod["metadata"].get("annotations") or {}).get(name, default)
    return text
