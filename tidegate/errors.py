"""The errors a caller may catch; a broken promise of our own is an assertion instead."""

from __future__ import annotations

from collections.abc import Sequence


def reason_of(error: Exception) -> str:
    """Return why a file could not be read or written, without its name."""
    return getattr(error, "strerror", None) or str(error)


def existing(names: str) -> str:
    """Return the sentence that follows an unknown name; ``names``: those that exist, listed."""
    return f"There are: {names}." if names else "There are none."


class TidegateError(Exception):
    """Root of every error raised on purpose."""


class ExpectationError(TidegateError):
    """Root of the errors with two numbers: what was expected and what was read."""

    def __init__(self, expected: object, actual: object) -> None:
        super().__init__(f"{self.__doc__} Expected {expected}, found {actual}.")
        self.expected, self.actual = expected, actual


class FencedError(ExpectationError):
    """A newer term has begun: this scheduler stands by."""


class SequenceConflictError(ExpectationError):
    """The ledger has another last entry than expected: start again from the ledger."""


class PublishRefusedError(ExpectationError):
    """EVENTS has another last entry: another client wrote, or an answer was lost."""


class LostTailError(ExpectationError):
    """EVENTS is ahead of the ledger, which lost its newest events: recover the ledger."""


class OtherClusterError(ExpectationError):
    """NATS belongs to another cluster: give each cluster its own --cluster name."""


class OtherLedgerError(ExpectationError):
    """NATS has the events of another ledger: use that ledger, or another NATS account."""


class ChainError(ExpectationError):
    """An entry does not follow from the previous one: the history was changed there."""


class AuditError(ExpectationError):
    """A turn recorded other decisions than the core takes from the same facts."""

    seq: int = 0  # of the first entry that differs, or where one is missing
    turn: int = 0


class UnknownRulesError(ExpectationError):
    """Rules of another version decided this: verify with --no-redecide, or with that version."""


class WitnessError(ExpectationError):
    """The ledger's last entry differs from its witness: entries were removed or replaced."""


class ForgedEventsError(TidegateError):
    """EVENTS holds messages that no ledger wrote; ``places`` are their stream sequences."""

    def __init__(self, places: Sequence[int]) -> None:
        listed = ", ".join(map(str, places[:10])) + (" and more" if len(places) > 10 else "")  # noqa: PLR2004 - a line
        super().__init__(
            f"EVENTS holds forged events: {len(places)} messages that are not in the "
            f"ledger, at stream sequence {listed}."
        )
        self.places = tuple(places)


class TurnHangsError(TidegateError):
    """A turn took too long, so the scheduler gave up its term."""


class CommitUnknownError(TidegateError):
    """The connection was lost during a commit: rebuild the state from the ledger."""


class BusRefusedError(TidegateError):
    """NATS answered with a refusal: rights, limits, or a stream that is not as wanted."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"NATS refused the request: {description} ({code})")
        self.code, self.description = code, description


class PoisonedTurnError(TidegateError):
    """An observation made the core raise: the turn is thrown away, and that one is refused."""


class LedgerUnreachableError(TidegateError):
    """The ledger's database does not answer, or its schema is not the one expected."""


class UnstorableValueError(TidegateError):
    """The ledger's database cannot hold a value, so that nothing of its turn was written."""


class BusUnreachableError(TidegateError):
    """NATS does not answer."""


class UndecodableError(TidegateError):
    """Bytes that claim to be an event are not one; the message has the wrong field."""


class TooLargeError(ExpectationError):
    """An event is larger than NATS accepts: ingest has to refuse its object."""


class OutOfSpaceError(TidegateError):
    """There is no space for an object now; the message has what takes it."""


class QuantityError(TidegateError, ValueError):
    """A text is not a Kubernetes quantity."""


class SettingsError(TidegateError):
    """A configuration cannot be used; the message has the field and the cause."""


class NotSupportedError(TidegateError):
    """The request is not supported yet; the message has the replacement."""


class UnknownNameError(TidegateError):
    """No object has the name; the message has the command that lists names."""


class ApiUnreachableError(TidegateError):
    """The Kubernetes API server does not answer: refused, reset or timed out."""


class PageTooLargeError(TidegateError):
    """A page of a list is larger than its reader can take."""

    def __init__(self, objects: int) -> None:
        super().__init__(f"A page of {objects} objects is too large.")


class ApiStatusError(TidegateError):
    """The Kubernetes API server answered with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"The API server answered {status}: {message}")
        self.status, self.message = status, message


class MissedEventsError(ExpectationError):
    """EVENTS no longer has the next events: pass the ledger to read them from."""


class MoveHangsError(TidegateError):
    """A tree of cohorts cannot move to another partition, or has not yet; the message has why."""
