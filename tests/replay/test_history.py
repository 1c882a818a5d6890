"""A ledger read again: its chain, its witness, its state at any point, and a workload's story."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from tests.core.telling import LEDGER
from tests.replay.world import World
from tidegate.contracts.chain import GENESIS, digest_of, seal
from tidegate.contracts.chain import verify as chained
from tidegate.contracts.codec import decode, encode
from tidegate.contracts.decisions import WorkloadPending
from tidegate.contracts.entry import Entry
from tidegate.contracts.fact_kinds.definitions import LedgerOpened
from tidegate.errors import AuditError, ChainError, WitnessError
from tidegate.replay.names import resolve_workloads
from tidegate.replay.rebuild import rebuild
from tidegate.replay.story.why import story_of
from tidegate.replay.verify import Witness, audit_ledger

OPENED = LedgerOpened(at_us=7, ledger_id="tidegate", cluster="local")


@pytest.fixture(scope="module")
def history() -> list[Entry]:
    """Tell of a small job that runs, one that waits, and one that makes the first leave."""
    world = World().open()
    world.turn(world.submit("c", 3, 0))
    small = next(iter(world.jobs))
    world.turn(*world.obey(small))
    world.turn(world.wait(5), world.submit("c", 3, 0))
    world.turn(world.wait(5), world.submit("c", 4, 2))
    world.turn(world.wait(5), *world.obey(small))
    large = max(world.jobs)
    world.turn(*world.obey(large))
    world.turn(world.finish(large))
    return world.entries


@pytest.mark.parametrize("column", Entry.__struct_fields__)
@pytest.mark.parametrize("at", [0, 9, -1])
def test_an_entry_with_one_column_forged_is_refused(
    history: list[Entry], column: str, at: int
) -> None:
    old = getattr(history[at], column)
    forged = {int: lambda: old + 1, str: lambda: old + "x", bytes: lambda: old[::-1]}[type(old)]()
    history = [*history]
    history[at] = replace(history[at], **{column: forged})
    with pytest.raises(ChainError):
        list(chained(history))


def test_a_character_moved_from_one_column_to_the_next_is_refused() -> None:
    [entry] = seal(GENESIS, 1, "local", [OPENED])
    moved = replace(entry, type=entry.type + entry.subject[0], subject=entry.subject[1:])
    with pytest.raises(ChainError, match="at seq 1"):
        list(chained([moved]))


def test_an_entry_missing_repeated_or_exchanged_is_refused(history: list[Entry]) -> None:
    cut, twice = history[:4] + history[5:], history[:5] + history[4:]
    exchanged = [*history[:4], history[5], history[4], *history[6:]]
    for altered in (cut, twice, exchanged, history[1:]):
        with pytest.raises(ChainError, match="the entry with seq"):
            rebuild(altered)


def test_a_chain_goes_on_from_any_of_its_entries(history: list[Entry]) -> None:
    assert list(chained(history[10:], history[9])) == history[10:]
    state, head = rebuild(history[:10])
    whole, end = rebuild(history[10:], state, head)
    assert (whole.seq, end) == (len(history), history[-1])


def test_turns_and_seqs_count_on_and_a_hash_is_sha_256_of_what_is_documented() -> None:
    first = seal(GENESIS, 3, "a:b", [OPENED, OPENED])
    [second] = seal(first[-1], 4, "a:b", [OPENED])
    assert [(each.seq, each.turn, each.epoch) for each in (*first, second)] == [
        (1, 1, 3),
        (2, 1, 3),
        (3, 2, 4),
    ]
    assert second.hash == digest_of(first[-1].hash, second)
    assert decode(second.payload) == OPENED


def test_a_tail_cut_off_is_shown_by_its_witness_only(history: list[Entry]) -> None:
    witness = Witness(seq=history[-1].seq, hash=history[-1].hash)
    assert audit_ledger(history, witness=witness).head_hash == witness.hash
    kept = [entry for entry in history if entry.turn < history[-1].turn]
    assert audit_ledger(kept).head_seq == len(kept)
    with pytest.raises(WitnessError, match=f"the end at {len(kept)}"):
        audit_ledger(kept, witness=witness)


def test_a_tail_written_anew_is_shown_by_its_witness(history: list[Entry]) -> None:
    witness = Witness(seq=history[-1].seq, hash=history[-1].hash)
    other = [*history[:-1], *seal(history[-2], 9, "local", [OPENED])]
    with pytest.raises(WitnessError):
        audit_ledger(other, witness=witness, redecide=False)


def test_an_audit_counts_what_it_checked(history: list[Entry]) -> None:
    audit = audit_ledger(history)
    decided = sum(entry.type in DECISIONS for entry in history)
    assert (audit.events, audit.turns) == (len(history), history[-1].turn)
    assert (audit.decisions, audit.epochs, audit.at_us) == (decided, 1, history[-1].at_us)
    assert audit_ledger(history, redecide=False).decisions == 0


DECISIONS = {
    "ClusterQueueReadinessChanged",
    "PreemptionIntended",
    "QuotaReleased",
    "QuotaReserved",
    "StartOrdered",
    "StopOrdered",
    "WorkloadAdmitted",
    "WorkloadEvicted",
    "WorkloadPending",
    "WorkloadPreempted",
    "WorkloadRequeued",
}


def resealed(history: list[Entry], seq: int, payload: bytes | None) -> Iterator[Entry]:
    """Yield a history with one payload exchanged or taken out, and every hash made to fit."""
    before = GENESIS
    for entry in history:
        if entry.seq == seq and payload is None:
            continue
        text = payload.decode() if entry.seq == seq and payload else entry.payload
        altered = replace(entry, seq=before.seq + 1, payload=text)
        before = replace(altered, hash=digest_of(before.hash, altered))
        yield before


def test_an_audit_names_the_first_decision_that_differs(history: list[Entry]) -> None:
    held = next(entry for entry in history if entry.type == "WorkloadPending")
    event = decode(held.payload)
    assert isinstance(event, WorkloadPending)
    other = encode(replace(event, reason="OnHold"))
    with pytest.raises(AuditError, match="OnHold") as caught:
        audit_ledger(resealed(history, held.seq, other))
    assert (caught.value.seq, caught.value.turn) == (held.seq, held.turn)
    assert msgspec.json.decode(str(caught.value.actual)) == msgspec.json.decode(held.payload)


def test_an_audit_misses_a_decision_that_was_due(history: list[Entry]) -> None:
    held = next(entry for entry in history if entry.type == "WorkloadPending")
    with pytest.raises(AuditError) as caught:
        audit_ledger(resealed(history, held.seq, None))
    assert caught.value.seq == held.seq


def test_the_past_is_as_it_was(history: list[Entry]) -> None:
    admitted = next(entry for entry in history if entry.type == "WorkloadAdmitted")
    before, head = rebuild(history[: admitted.seq - 1])
    after, _ = rebuild(history[: admitted.seq])
    assert head == history[admitted.seq - 2]
    assert [each.phase for each in before.workloads.values()] == ["reserved"]
    assert [each.phase for each in after.workloads.values()] == ["admitted"]
    assert rebuild(history)[1] == history[-1]
    assert rebuild([])[1] == GENESIS


def test_a_story_says_what_happened_and_by_which_numbers(history: list[Entry]) -> None:
    story = story_of(history, resolve_workloads(history, "j104")[0])
    assert (story.job.name if story.job else "", story.phase) == ("j104", "admitted")
    texts = [line.text for line in story.lines]
    assert texts[0] == "Submitted to queue c: 1 pod of main, each cpu=3."
    assert "Quota reserved in c: 1 pod of main: cpu 3 of f." in texts
    assert "Admitted by c, 999 s after its creation." in texts
    [preempted] = [text for text in texts if text.startswith("Preempted by")]
    assert preempted.startswith("Preempted by team/job-uid-j107 of c: InClusterQueue")
    assert "Its job has stopped: no pods are active, and the job carries the stop order." in texts
    assert [line.seq for line in story.lines] == sorted(line.seq for line in story.lines)


def test_a_story_of_a_wait_names_what_was_requested_and_free(history: list[Entry]) -> None:
    story = story_of(history, resolve_workloads(history, "job/j106")[0])
    [held] = [line for line in story.lines if line.what == "WorkloadPending"][:1]
    assert held.reason == "WaitingForQuota"
    assert "cpu of flavor f for podset main: requested 3, unused 1, at most 4" in held.text


def test_a_preemptors_story_names_its_victims(history: list[Entry]) -> None:
    texts = [
        line.text for line in story_of(history, resolve_workloads(history, "team/j107")[0]).lines
    ]
    assert "Preempts team/job-uid-j104 of c: InClusterQueue." in texts


@pytest.mark.parametrize(
    "text",
    ["j104", "job/j104", "batch/job/j104", "team/j104", "team/job/j104", "team/job-uid-j104"],
)
def test_a_workload_may_be_named_in_many_ways(history: list[Entry], text: str) -> None:
    assert resolve_workloads(history, text) == ["team/job-uid-j104"]


@pytest.mark.parametrize("text", ["j1", "pod/j104", "other/j104", ""])
def test_what_names_no_workload_finds_none(history: list[Entry], text: str) -> None:
    assert resolve_workloads(history, text) == []


def test_a_story_that_the_ledger_does_not_know_has_no_lines(history: list[Entry]) -> None:
    story = story_of(history, "team/unknown")
    assert (story.phase, story.lines) == ("unknown", [])


def test_the_ledger_bears_the_name_that_its_decisions_are_compared_with(
    history: list[Entry],
) -> None:
    assert rebuild(history)[0].ledger_id == LEDGER
