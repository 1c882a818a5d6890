"""Which observation of an object is outdated: versions compare as integers, across sessions."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.observations import JobObserved, Observed
from tidegate.core.state.definition_kinds import definitions_of
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.multikueue import OUT_OF_SYNC


def is_outdated(state: State, resource: str, observed: Observed, version: int | None) -> bool:
    """Return whether a newer version than ``observed`` is known; ``version``: the one in the state.

    What a list had and is outdated is kept until its round is complete: if that shows that the
    cluster was restored from a backup, it counts after all.
    """
    newer = _newer(state, resource, observed, version)
    if newer is None and version is None and _is_overtaken(state, resource, observed):
        _doubt_overtaken(state, resource, observed)
        return True
    if newer is None:
        state.dedup.doubted.get(resource, {}).pop(observed.uid, None)
        return False
    unknown = version is None and observed.uid not in state.dedup.versions
    pass_over(state, resource, observed, newer, doubted=unknown and not is_over(observed))
    return True


def _is_overtaken(state: State, resource: str, observed: Observed) -> bool:
    """Return whether a list has an unknown object that a later list, observed since, had not.

    Such a list may arrive long after it was read, when nobody remembers any more who was removed.
    Nor is known when one was asked for whose beginning was not heard: all is observed again behind
    it.
    """
    roll = state.dedup.rolls.get(roll_key(observed.session, resource, observed.round))
    listed = list_version(state, resource)
    late = roll is None or roll.listed < listed
    return late and observed.round > 0 and observed.version <= listed


def _doubt_overtaken(state: State, resource: str, observed: Observed) -> None:
    """Pass over what an overtaken list tells; a list that is later still may refute that.

    It shows no restored cluster: others have brought a later list since this one was requested.
    """
    if not is_over(observed):
        state.dedup.doubted.setdefault(resource, {})[observed.uid] = list_version(state, resource)
    roll = state.dedup.rolls.get(roll_key(observed.session, resource, observed.round))
    if roll is not None:
        roll.passed_over[observed.uid] = observed


def is_over(observed: Observed) -> bool:
    """Tell whether a job has ended: whether it is there or not, nothing follows from it.

    Its Workload that still shows quota is to be finished, and a job that is out of sync with its
    prebuilt Workload is not to run: neither is over before that is recorded.
    """
    if not isinstance(observed, JobObserved) or observed.left_open:
        return False
    return bool(observed.finished) and observed.finished != OUT_OF_SYNC


def pass_over(
    state: State, resource: str, observed: Observed, newer: int, *, doubted: bool
) -> None:
    """Take ``observed`` for outdated, because of what was known at version ``newer``.

    ``doubted``: it is taken for dead, until a later list has it.
    """
    if doubted:
        state.dedup.doubted.setdefault(resource, {})[observed.uid] = newer
    roll = state.dedup.rolls.get(roll_key(observed.session, resource, observed.round))
    if roll is not None:
        roll.passed_over[observed.uid] = observed
        # The list is as new as all that was known when it began, and yet older than this.
        roll.restored = roll.restored or newer <= roll.floor


def roll_key(session: str, resource: str, number: int) -> str:
    """Return the key of a round in ``Dedup.rolls``."""
    return f"{session} {resource} {number}"


def _newer(state: State, resource: str, observed: Observed, version: int | None) -> int | None:
    # An unknown object was removed if its uid says so; if a watch brought it, also if its version
    # is not above the newest list, which did not have it. What a list tells counts: an earlier
    # telling may have been lost.
    dedup = state.dedup
    if version is not None:
        newest = max(version, dedup.versions.get(observed.uid, 0))
        return newest if observed.version < newest else None
    removed = dedup.gone.get(resource, {}).get(observed.uid)
    if removed is not None:  # a group of a LeaderWorkerSet may come again, under its uid
        return removed if observed.version <= removed else None
    # A name has one object at a time, and a job that asked for no queue any more may ask again.
    namesake = dedup.gone_names.get(resource, {}).get(_name(observed.namespace, observed.name), "")
    later = dedup.gone.get(resource, {}).get(namesake, 0)
    newest = max(later, dedup.versions.get(observed.uid, 0))
    if observed.version < newest:
        return newest
    listed = list_version(state, resource)
    return listed if observed.round == 0 and observed.version <= listed else None


def list_version(state: State, resource: str) -> int:
    """Return the newest version at which a list of the resource was completed; 0: none was."""
    folded = state.rounds.get(resource)
    newest = 0 if folded is None else folded.list_version
    return max(newest, state.dedup.lists.get(resource, 0))


def known_versions(state: State, resource: str) -> Iterator[tuple[str, str, int]]:
    """Yield (key, uid, newest version) of each object of a resource, in the state's order."""
    fields = state.dedup.versions
    definitions = definitions_of(state.objects, resource)
    if definitions is not None:
        for key, defined in definitions.items():
            yield key, defined.uid, max(defined.version, fields.get(defined.uid, 0))
        return
    for key, workload in state.workloads.items():
        uid = workload.job.uid  # of an elastic job's workloads one stands for it
        if workload.resource == resource and state.by_uid.get(uid) == key:
            yield key, uid, max(workload.version, fields.get(uid, 0))
    for uid, copy in state.copies.items():
        if copy.resource == resource:
            yield uid, uid, max(copy.version, fields.get(uid, 0))


def note(state: State, observed: Observed) -> None:
    """Remember that an object was observed at this version, whether that was news or not."""
    fields = state.dedup.versions
    if observed.version > fields.get(observed.uid, 0):
        fields[observed.uid] = observed.version


def bury(state: State, resource: str, gone: ObjectRef, version: int) -> None:
    """Remember that an object is gone: its uid never comes back, nor who had its name before."""
    dedup, name = state.dedup, _name(gone.namespace, gone.name)
    dedup.versions.pop(gone.uid, None)
    dedup.gone.setdefault(resource, {})[gone.uid] = version
    dedup.gone_names.setdefault(resource, {})[name] = gone.uid


def unname(state: State, resource: str, namespace: str, name: str) -> None:
    """Forget that a name's object is gone: since when is not known, so it is older than nobody."""
    state.dedup.gone_names.get(resource, {}).pop(_name(namespace, name), None)


def _name(namespace: str, name: str) -> str:
    return f"{namespace}/{name}"
