"""When a worker cluster that could not be reached is tried again. Source: multikueue.md 1.1."""

from __future__ import annotations

import msgspec

FIRST_S, DOUBLINGS_MAX = 5, 6


def delay_s(failures: int) -> int:
    """Return how long to wait after the n-th failure in a row (from 1): 5 s doubling to 320 s."""
    return FIRST_S << (min(failures, DOUBLINGS_MAX + 1) - 1)


class Attempts(msgspec.Struct, frozen=True, kw_only=True):
    """How often a cluster could not be reached with the credentials that it has."""

    credentials: bytes = b""  # what was tried
    failures: int = 0
    next_s: float = 0.0  # not before this time is it tried again

    def may_try(self, credentials: bytes, now_s: float) -> bool:
        """Return whether it is time; other credentials are tried at once."""
        return credentials != self.credentials or now_s >= self.next_s

    def after_failure(self, credentials: bytes, now_s: float) -> Attempts:
        """Return the same after one failure more."""
        failures = self.failures + 1 if credentials == self.credentials else 1
        wait_s = delay_s(failures)
        return Attempts(credentials=credentials, failures=failures, next_s=now_s + wait_s)


def with_attempts(message: str, failures: int, next_at: str) -> str:
    """Return the message of a condition, with the attempts so far and the time of the next."""
    if not failures:
        return message
    return f"{message}; connection attempts: {failures}, next connection attempt: {next_at}"
