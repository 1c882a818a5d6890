"""For how long an order is tried again after each kind of trouble."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from actuator.calls import is_temporary
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Refusal


class RetryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """For how many seconds an order is tried without progress before it is reported."""

    busy_s: float = 30.0  # the API server does not answer, or answers 429 or 5xx
    conflict_s: float = 20.0  # 409: another client changes the object each time
    not_yet_s: float = 15.0  # 422: what must be so first is not so yet
    stop_s: float = 600.0  # the kind's controller does not bring its pods to an end
    first_s: float = 0.02  # the first wait between tries; they double
    most_s: float = 2.0

    def limit_for(self, error: ApiUnreachableError | ApiStatusError) -> tuple[Refusal, float]:
        """Return what to call an error that stays, and how long it may."""
        if isinstance(error, ApiUnreachableError) or is_temporary(error):
            return "unreachable", self.busy_s
        match error.status:
            case HTTPStatus.CONFLICT | HTTPStatus.NOT_FOUND:
                return "conflict", self.conflict_s
            case HTTPStatus.UNPROCESSABLE_ENTITY:
                return "invalid", self.not_yet_s
            case HTTPStatus.FORBIDDEN | HTTPStatus.UNAUTHORIZED:
                return "forbidden", 0
            case _:
                return "invalid", 0
