"""What would let a job start, one that was not submitted among them; a history replayed otherwise.

All are decided by the scheduler's own core on copies. They keep a thread busy, so what they may
look at is bounded, and one history at a time is played.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from threading import Lock
from typing import Any

import msgspec

from tidegate.cli.commands.decisions.why_not import answer_record as why_not_record
from tidegate.cli.commands.what_if.config import compare_replays, reader_until
from tidegate.cli.commands.what_if.submit import answer_record as dry_run_record
from tidegate.cli.commands.what_if.submit import observed_job
from tidegate.cli.figures.comparison import comparison_record
from tidegate.cli.ledger.name_lookup import reader_of_workload
from tidegate.core.state.state import State
from tidegate.errors import NotSupportedError
from tidegate.kinds.decode import FAILURES
from tidegate.replay.simulator.trees import cluster_queue_of
from tidegate.replay.whynot_search.whynot import dry_run, why_not
from tidegate.serve.api.answering import key_of
from tidegate.serve.api.endpoint import Question
from tidegate.serve.ledger.queueing import is_local_queue_served, queues_of
from tidegate.serve.ledger.readers import PAST_MAX
from tidegate.serve.refusals import RefusalError, refuse_invalid

MOMENTS_MAX = 100_000
"""A history that is played in virtual time may have so many moments."""
PLAYING = Lock()
TRIALS_MAX = 60
"""A search for a smaller set that would let a workload start tries no more."""
SEARCH_S = 20.0
"""Seconds that a search may take, whatever it searches: it keeps the only thread of these busy."""


def answer_why_not(question: Question) -> dict[str, Any]:
    """Tell what would have to change for a workload to start now: see ``tidegate why-not``.

    Raises:
        RefusalError: the workload is not pending.
    """
    key = key_of(question)

    def queue(state: State) -> set[str]:
        workload = state.workloads.get(key)
        return set() if workload is None else {cluster_queue_of(state, workload)}

    state = question.for_partition(reader_of_workload(question.reader, key).partition).subtree_copy(
        queue
    )
    with refuse_invalid():  # the workload does not wait
        return why_not_record(why_not(state, key, TRIALS_MAX, trial_deadline("why-not")))


def trial_deadline(command: str, now_s: Callable[[], float] = time.monotonic) -> Callable[[], None]:
    """Return what a search calls at each trial; ``command`` does the same without a limit.

    What is returned raises NotSupportedError once the search has taken too long.
    """
    until_s = now_s() + SEARCH_S

    def check_deadline() -> None:
        if now_s() > until_s:
            raise NotSupportedError(
                f"The server searches for {SEARCH_S:.0f} s at most: run `tidegate {command}` on "
                "your own machine."
            )

    return check_deadline


def answer_dry_run(question: Question) -> dict[str, Any]:
    """Tell what would become of a job: see ``tidegate what-if submit``."""
    namespace = question.values["namespace"]
    with refuse_invalid():
        kind, job = observed_job(_decode_object(question.body), "The body", namespace)
        if job.namespace == namespace:
            decider = question.for_deciding_partition(
                lambda state: is_local_queue_served(state, f"{namespace}/{job.queue}")
            )
            state = decider.subtree_copy(lambda state: queues_of(state, namespace))
            tick = trial_deadline("what-if submit")
            return dry_run_record(dry_run(state, job, kind.resource, TRIALS_MAX, tick))
    raise RefusalError(HTTPStatus.BAD_REQUEST, f"The job is not of {namespace!r}.")


def answer_what_if(question: Question) -> dict[str, Any]:
    """Replay what was recorded under other quotas, priorities or policies: ``tidegate what-if``.

    Raises:
        NotSupportedError: the history is too long to be played here.
    """
    settings = [setting.strip() for setting in question.values["set"].split(";") if setting.strip()]
    if not settings:
        raise RefusalError(HTTPStatus.BAD_REQUEST, "Say what is to be otherwise: set=.")
    decider = question.for_deciding_partition(lambda state: _has_object(state, settings))
    if question.has_several_partitions:
        _refuse_seqs(question)
    until = reader_until(decider.reader, question.values["to"])
    if until.end > PAST_MAX:
        raise NotSupportedError(
            f"The server replays only the first {PAST_MAX} events of a ledger: "
            "run `tidegate what-if` on your own machine."
        )
    if not PLAYING.acquire(blocking=False):
        message = "Another history is being played: try again."
        raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=5)
    try:
        with refuse_invalid():
            comparison = compare_replays(
                until, question.values["from"], settings, [], _bounded_progress
            )
    finally:
        PLAYING.release()
    return {**comparison_record(comparison), "title": "What if"}  # without the ledger's URL


def _has_object(state: State, settings: list[str]) -> bool:
    """Return whether a state has a ClusterQueue or Cohort that settings name."""
    names = {text.partition(".")[0].rpartition("/")[2] for text in settings}
    queues = state.objects.cluster_queues
    cohorts = {defined.spec.cohort for defined in queues.values()}
    return not names.isdisjoint({*queues, *cohorts, *state.objects.cohorts} - {""})


def _refuse_seqs(question: Question) -> None:
    """Refuse a seq where each of several partitions has its own."""
    for name in ("from", "to"):
        if question.values[name].isdecimal():
            message = f"{name}={question.values[name]}: several partitions count seqs: give a time."
            raise RefusalError(HTTPStatus.BAD_REQUEST, message)


def _bounded_progress(_side: str) -> Any:  # noqa: ANN401 - as ``whatif.Progress``
    def bounded(moments: Iterator[int]) -> Iterator[int]:
        for count, moment in enumerate(moments):
            if count >= MOMENTS_MAX:
                raise NotSupportedError(
                    f"The server simulates at most {MOMENTS_MAX} steps: limit the time with to=."
                )
            yield moment

    return bounded


def _decode_object(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except FAILURES as error:
        message = "The body is no JSON object: give the manifest of one job as JSON."
        raise RefusalError(HTTPStatus.BAD_REQUEST, message) from error
