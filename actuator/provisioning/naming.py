"""What the objects of this controller are called, as Kueue calls them.

A name that would be too long is cut and made unique by a hash of the whole. Source:
behaviour.md 9.3.
"""

from __future__ import annotations

import hashlib
import re

CONTROLLER = "kueue.x-k8s.io/provisioning-request"
GROUP, VERSION = "autoscaling.x-k8s.io", "v1"
RESOURCE = f"provisioningrequests.{GROUP}"
REQUESTS = f"/apis/{GROUP}/{VERSION}/provisioningrequests"
CONSUMES = f"{GROUP}/consume-provisioning-request"
CLASS_NAME = f"{GROUP}/provisioning-class-name"

_WHOLE_MAX = 247
"""So long a name may be and stay whole; a dash and five digits of the hash fit behind it."""
_HASH_DIGITS = 5
_ATTEMPTS_MAX = 1_000
_NUMBER = re.compile(r"[1-9]\d{0,8}")


def request_name(workload: str, check: str, attempt: int) -> str:
    """Return the name of a workload's n-th request for a check."""
    return _limited(f"{workload}-{check}-{attempt}")


def template_name(request: str, podset: str) -> str:
    """Return the name of the PodTemplate that a request has for a podset."""
    return _limited(f"ppt-{request}-{podset}")


def attempt_of(request: str, workload: str, check: str) -> int:
    """Return which attempt a request is for this workload and check; 0 if it is for another."""
    prefix = f"{workload}-{check}-"
    if len(request) <= _WHOLE_MAX:
        number = request.removeprefix(prefix)
        matches = request.startswith(prefix) and _NUMBER.fullmatch(number)
        return int(number) if matches else 0
    numbers = range(1, _ATTEMPTS_MAX + 1)
    return next((number for number in numbers if _limited(f"{prefix}{number}") == request), 0)


def _limited(name: str) -> str:
    if len(name) <= _WHOLE_MAX:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:_WHOLE_MAX]}-{digest[:_HASH_DIGITS]}"
