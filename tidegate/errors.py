"""The errors a caller may catch; a broken promise of our own is an assertion instead."""

from __future__ import annotations

from collections.abc import Sequence


class TidegateError(Exception):
    """Root of every error raised on purpose."""


class ExpectationError(TidegateError):
    """Root of the errors with two numbers: what was expected and what was read."""

    def __init__(self, expected: object, actual: object) -> None:
        super().__init__(f"{self.__doc__} Expected {expected}, found {actual}.")
        self.expected, self.actual = expected, actual


class FencedError(ExpectationError):
    """A newer term has begun: this writer stands by."""


class SequenceConflictError(ExpectationError):
    """The ledger ends elsewhere: start again from the ledger."""


class PublishRefusedError(ExpectationError):
    """EVENTS ends elsewhere: another wrote, or the answer to our own first try was lost."""


class LostTailError(ExpectationError):
    """EVENTS is ahead of the ledger, which lost its tail: do not lead, recover it."""


class OtherClusterError(ExpectationError):
    """This bus belongs to another cluster: give each cluster a --cluster name of its own."""


class OtherLedgerError(ExpectationError):
    """Another ledger is published on this bus: name its ledger, or give this one another bus."""


class ChainError(ExpectationError):
    """An entry does not follow from the one before: the history was altered there."""


class AuditError(ExpectationError):
    """A turn recorded other decisions than the core takes on the same facts."""

    seq: int = 0  # of the first entry that differs, or where one is missing
    turn: int = 0


class UnknownRulesError(ExpectationError):
    """Another version's rules decided here: audit with --no-redecide, or with that version."""


class WitnessError(ExpectationError):
    """The ledger's head is not the one its witness holds: the tail was cut off or replaced."""


class ForgedEventsError(TidegateError):
    """EVENTS holds messages that no ledger wrote; ``places`` are their stream sequences."""

    def __init__(self, places: Sequence[int]) -> None:
        listed = ", ".join(map(str, places[:10])) + (" and more" if len(places) > 10 else "")  # noqa: PLR2004 - a line
        super().__init__(
            f"EVENTS holds forged events: {len(places)} messages follow from no entry of the "
            f"ledger, at stream sequence {listed}."
        )
        self.places = tuple(places)


class TurnHangsError(TidegateError):
    """No turn ended for so long that the term was given up."""


class CommitUnknownError(TidegateError):
    """The connection was lost during a commit: throw the state away and rebuild."""


class BusRefusedError(TidegateError):
    """NATS answered with a refusal: rights, limits, or a stream that is not as wanted."""

    def __init__(self, code: int, description: str) -> None:
        super().__init__(f"NATS refuses: {description} ({code})")
        self.code, self.description = code, description


class PoisonedTurnError(TidegateError):
    """An observation made the core raise: the turn is thrown away, and that one is refused."""


class LedgerUnreachableError(TidegateError):
    """The ledger's database does not answer, or its schema is not the one expected."""


class BusUnreachableError(TidegateError):
    """NATS does not answer."""


class UndecodableError(TidegateError):
    """Bytes that claim to be an event are not one; the message has the wrong field."""


class TooLargeError(ExpectationError):
    """An event is larger than the bus takes: its object must be refused where it came in."""


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
    """EVENTS no longer holds what comes next: name the ledger to read it from."""
