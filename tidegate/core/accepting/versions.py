"""Which observation of an object is outdated: versions compare as integers, across sessions."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.observations import Observed
from tidegate.core.draft import Draft
from tidegate.core.resources import room


def is_outdated(draft: Draft, resource: str, seen: Observed, known: int | None) -> bool:
    """Tell whether something newer than ``seen`` is known; ``known`` is the version in the draft.

    What a list told and is outdated is kept until its round is complete: if that shows that the
    cluster was restored from a backup, it counts after all.
    """
    newer = _newer(draft, resource, seen, known)
    if newer is None:
        draft.heard.doubted.get(resource, {}).pop(seen.uid, None)
        return False
    pass_over(draft, resource, seen, newer, doubted=known is None)
    return True


def pass_over(draft: Draft, resource: str, seen: Observed, newer: int, *, doubted: bool) -> None:
    """Take ``seen`` for outdated, because of what was known at version ``newer``.

    ``doubted``: it is taken for dead, until a later list has it.
    """
    if doubted:
        draft.heard.doubted.setdefault(resource, {})[seen.uid] = newer
    roll = draft.heard.rolls.get(roll_key(seen.session, resource, seen.round))
    if roll is not None:
        roll.passed_over[seen.uid] = seen
        # The list is as new as all that was known when it began, and yet older than this.
        roll.restored = roll.restored or newer <= roll.floor


def roll_key(session: str, resource: str, number: int) -> str:
    """Return the key of a round in ``Heard.rolls``."""
    return f"{session} {resource} {number}"


def _newer(draft: Draft, resource: str, seen: Observed, known: int | None) -> int | None:
    # An unknown object was removed if its uid says so; told by a watch, also if its version is not
    # above the newest list, which did not have it. What a list tells counts: an earlier telling
    # may have been lost.
    heard = draft.heard
    if known is not None:
        newest = max(known, heard.versions.get(seen.uid, 0))
        return newest if seen.version < newest else None
    removed = heard.gone.get(resource, {}).get(seen.uid)
    if removed is not None:
        return removed
    listed = list_version(draft, resource)
    return listed if seen.round == 0 and seen.version <= listed else None


def list_version(draft: Draft, resource: str) -> int:
    """Return the newest version at which a list of the resource was completed; 0: none was."""
    folded = draft.rounds.get(resource)
    newest = 0 if folded is None else folded.list_version
    return max(newest, draft.heard.lists.get(resource, 0))


def known_versions(draft: Draft, resource: str) -> Iterator[tuple[str, str, int]]:
    """Yield (key, uid, newest version told) of each object of a resource, in the draft's order."""
    told = draft.heard.versions
    definitions = room(draft.objects, resource)
    if definitions is not None:
        for key, defined in definitions.items():
            yield key, defined.uid, max(defined.version, told.get(defined.uid, 0))
        return
    for key, workload in draft.workloads.items():
        uid = workload.job.uid  # of an elastic job's workloads one stands for it
        if workload.resource == resource and draft.by_uid.get(uid) == key:
            yield key, uid, max(workload.version, told.get(uid, 0))


def note(draft: Draft, seen: Observed) -> None:
    """Remember that an object was told at this version, whether that was news or not."""
    told = draft.heard.versions
    if seen.version > told.get(seen.uid, 0):
        told[seen.uid] = seen.version


def bury(draft: Draft, resource: str, uid: str, version: int) -> None:
    """Remember that an object is gone: its uid never comes back."""
    draft.heard.versions.pop(uid, None)
    draft.heard.gone.setdefault(resource, {})[uid] = version
