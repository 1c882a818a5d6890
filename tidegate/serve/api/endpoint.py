"""A question and how it may be asked: a row of the table of endpoints, and what its run gets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from tidegate.cli.commands.decisions.why import StoryContext, story_context
from tidegate.cli.ledger.reading import Reader
from tidegate.core.folding.snapshot import decode, write
from tidegate.core.state.state import State, Workload
from tidegate.model.texts import parse_signed, parse_whole
from tidegate.replay.simulator.trees import trees_of
from tidegate.replay.story.why import Story
from tidegate.serve.api.shapes import Listed
from tidegate.serve.auth.rights import Visibility
from tidegate.serve.ledger.caches import RowCache
from tidegate.serve.ledger.partitions.following import FollowedPartition
from tidegate.serve.ledger.queueing import pending_rows
from tidegate.serve.ledger.readers import ROWS_MAX
from tidegate.serve.refusals import RefusalError

Scope: TypeAlias = Literal[
    "anyone",
    "workload",
    "namespace",
    "everything",
    "queues",
    "queues or namespace",
    "pending in cluster queue",
    "pending in local queue",
]
"""The right that a caller needs. workload: get it or its job; namespace: list the Workloads of the
parameter ``namespace``, or of all without it; everything: list those of all namespaces; queues:
list ClusterQueues; pending: get that queue's ``pendingworkloads`` in Kueue's visibility API."""

VALUE_CHARS_MAX = 400
LIMIT, LIMIT_MAX = 500, ROWS_MAX
"""Rows of a list's part. The most are a whole report, whose later parts nothing could pin."""


class Parameter(NamedTuple):
    """A parameter of the query."""

    name: str
    about: str
    choices: tuple[str, ...] = ()  # the first one is the default; empty: any text
    number: bool = False
    signed: bool = False  # a number that may be negative


AS_OF = Parameter(
    "asOf",
    "As it was after this event, at this time, or so long ago: 41, 2h; of several partitions "
    "1/41, or a position.",
)
NAMESPACE = Parameter(
    "namespace", "Only of this namespace; without it of all, for users who may see all."
)
OFFSET = Parameter("offset", "Leave out so many of the first.", number=True)
LIMITED = Parameter("limit", f"At most so many, up to {LIMIT_MAX}; {LIMIT}.", number=True)
PAGED = (OFFSET, LIMITED)


class Question(NamedTuple):
    """A request that may be answered: of one partition, or of the first with others beside it."""

    reader: Reader  # with those of the other partitions, if any
    partitions: tuple[FollowedPartition, ...]  # the reader's partitions, in this order
    sums: RowCache
    values: Mapping[str, str]  # parameters of path and query; those not given are empty
    sight: Visibility
    past: bool  # it is asked of a moment of the past
    body: bytes = b""  # what was sent, where something is taken

    @property
    def has_several_partitions(self) -> bool:
        """Return whether the answer is of more than one partition."""
        return bool(self.reader.others)

    def by_partition(self) -> tuple[Question, ...]:
        """Return the question for each partition alone, in order."""
        if not self.has_several_partitions:
            return (self,)
        readers = {each.partition: each for each in self.reader.partition_readers()}
        return tuple(
            self._replace(reader=readers[followed.partition], partitions=(followed,))
            for followed in self.partitions
        )

    def for_partition(self, partition: int) -> Question:
        """Return the question for a partition alone."""
        return next(each for each in self.by_partition() if each.reader.partition == partition)

    @contextmanager
    def state(self) -> Generator[State]:
        """Lend the state that is asked about; it is not to be changed."""
        followed = self.partitions[0]
        lent = followed.past.state(self.reader) if self.past else followed.live.state()
        with lent as state:
            yield state

    @contextmanager
    def states(self) -> Generator[list[tuple[Question, State]]]:
        """Lend the states of all partitions, as of one moment, each with its question."""
        with ExitStack() as lent:
            yield [(each, lent.enter_context(each.state())) for each in self.by_partition()]

    def for_deciding_partition(self, decides: Callable[[State], bool]) -> Question:
        """Return the question for the partition that decides about something; of none, the first.

        ``decides`` tells whether a state's partition does.
        """
        with self.states() as states:
            deciders = (each for each, state in states if decides(state))
            return next(deciders, states[0][0])

    def subtree_copy(self, queues: Callable[[State], Collection[str]]) -> State:
        """Return a private copy of the state, with the workloads of some queues' trees alone.

        To decide on a state changes it; a copy of all workloads takes longer than to decide.
        """
        with self.state() as state:
            encoded = write(trees_of(state, queues(state)))
        return decode(encoded)

    def surroundings_of(self, story: Story, *, whole: bool) -> StoryContext:
        """Return the context of a story's events: noted, or folded while notes are not ready."""
        live = self.partitions[0].live
        if live.index.seq < story.lines[-1].seq:
            return story_context(self.reader, story, whole=whole)
        own = (line.seq for line in story.lines if line.of == story.workload)
        noted = ((seq, live.notes.get(seq)) for seq in own)
        return StoryContext({seq: note for seq, note in noted if note is not None})

    def pending_rows(
        self, state: State, queues: Collection[str] | None = None
    ) -> list[dict[str, Any]]:
        """Return the pending workloads of some or all queues: see ``queueing.pending_rows``."""

        def waiting_since(workload: Workload) -> int:
            return (
                self.partitions[0].live.index.waiting_since(workload.key, state.seq)
                or workload.created_us
            )

        return pending_rows(state, waiting_since, queues)


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table of endpoints."""

    path: str
    about: str
    answer: Any  # the type of an item, or of the answer itself
    run: Callable[[Question], Any] | None  # None: it is answered without the ledger
    scope: Scope
    parameters: tuple[Parameter, ...] = ()
    listed: bool = False  # it answers with parts of a list
    moves: Literal["", "clock", "index"] = ""  # with what its answer changes, no event written
    decides: bool = False  # the scheduler's core decides for it: such wait for each other
    reports: bool = False  # it reads SQL reports
    body_type: str = ""  # what is sent to it; empty: nothing, it is only read

    @property
    def method(self) -> Literal["GET", "POST"]:
        """Return how it is asked."""
        return "POST" if self.body_type else "GET"

    def values(self, path: Mapping[str, str], query: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters that a request has, each bounded and known.

        Raises:
            RefusalError: one is not known, too long, no number, or none of the choices.
        """
        parameters = {parameter.name: parameter for parameter in self.allowed_parameters()}
        if unknown := sorted(query.keys() - parameters.keys()):
            listed = ", ".join(parameters) or "none"
            raise _bad_request(
                f"There is no parameter {unknown[0][:80]!r} here. There are: {listed}."
            )
        values = {
            name: parameter.choices[0] if parameter.choices else ""
            for name, parameter in parameters.items()
        }
        for name, value in {**query, **path}.items():
            _check_value(parameters.get(name), name, value)
            values[name] = value
        return values

    def answer_type(self) -> Any:  # noqa: ANN401 - a type
        """Return the type of what is answered."""
        generic: Any = Listed
        return generic[self.answer] if self.listed else self.answer

    def allowed_parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters that may stand in the query."""
        return (*self.parameters, *(PAGED if self.listed else ()))


def offset_and_limit(values: Mapping[str, str]) -> tuple[int, int]:
    """Return offset and limit."""
    limit = parse_whole(values["limit"]) or LIMIT  # 0 is no limit of its own, as in Kubernetes
    return parse_whole(values["offset"]) or 0, min(limit, LIMIT_MAX)


def _check_value(parameter: Parameter | None, name: str, value: str) -> None:
    if len(value) > VALUE_CHARS_MAX or not value.isprintable():
        raise _bad_request(f"{name} is too long, or no text.")
    if parameter is None or not value:
        return
    parse = parse_signed if parameter.signed else parse_whole
    if parameter.number and parse(value) is None:
        raise _bad_request(f"{name} {value[:32]!r} is no number.")
    if parameter.choices and value not in parameter.choices:
        raise _bad_request(f"{name} {value[:32]!r} is none of {', '.join(parameter.choices)}.")


def _bad_request(message: str) -> RefusalError:
    return RefusalError(HTTPStatus.BAD_REQUEST, message)
