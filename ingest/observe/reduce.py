"""Reduces objects of one resource to observations: a malformed one is refused, others go on.

What an object of a ``wide`` resource changes is reduced slice by slice, between which other events
are processed: a tenant may have thousands of jobs that one write changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import msgspec

from ingest.jobs.ownership import ResourceObservation
from ingest.metrics import Metrics
from ingest.observe.definitions import identity
from ingest.publish import refused
from ingest.watched import Watched
from tidegate.contracts.observations import Observed
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Object
from tidegate.kinds.decode import FAILURES, Unreadable, said
from tidegate.kinds.meta import ObjectMeta
from tidegate.service.logs import get_log

SLICE = 32
"""At most so many observations of a wide resource are reduced in a row."""
_log = get_log("reduce")


@dataclass(frozen=True, slots=True)
class Reducer:
    """Reduces the objects of one resource to observations; raises nothing."""

    watched: Watched
    metrics: Metrics

    def present(self, obj: Any) -> Iterator[list[ResourceObservation]]:  # noqa: ANN401 - of the resource's kind
        """Yield the observations of a present object, and those of others that it changes."""
        if isinstance(obj, Unreadable):
            yield [self._refused(obj, obj.error)]
            return
        try:
            yield from self._slices(self.watched.observe(obj))
        except TidegateError as error:
            yield [self._refused(obj, said(error))]
        except Exception as error:  # noqa: BLE001 - of one object: the others go on
            _log.exception("not observed", resource=self.watched.resource, uid=obj.metadata.uid)
            yield [self._refused(obj, f"{type(error).__name__}: {said(error)}")]

    def gone(self, meta: ObjectMeta) -> list[ResourceObservation] | None:
        """Return what else a deletion changes; None: that failed, and was counted."""
        try:
            return list(self.watched.gone(meta.uid, meta.version))
        except Exception:  # noqa: BLE001 - of one object: the next list tells what this did not
            self.metrics.observations.labels(self.watched.resource, "failed").inc()
            _log.exception("not forgotten", resource=self.watched.resource, uid=meta.uid)
            return None

    def _slices(
        self, observations: Iterable[ResourceObservation]
    ) -> Iterator[list[ResourceObservation]]:
        remaining, size = iter(observations), SLICE if self.watched.wide else None
        while few := list(islice(remaining, size)):
            yield few

    def _refused(self, obj: Any, error: str) -> ResourceObservation:  # noqa: ANN401 - of the kind, or Unreadable
        resource, meta = self.watched.resource, obj.metadata
        self.metrics.observations.labels(resource, "refused").inc()
        try:
            job = self.watched.unreadable(meta, _plain(obj), error)
        except Exception:  # noqa: BLE001 - of one object: its refusal is published all the same
            _log.exception("not described", resource=resource, uid=meta.uid)
            job = None
        return resource, refused(resource, Observed(**identity(meta)), error, job)


def _plain(obj: Any) -> Object:  # noqa: ANN401 - of a resource's kind, or Unreadable
    if not isinstance(obj, Unreadable):
        return cast("Object", msgspec.to_builtins(obj))
    try:
        return msgspec.json.decode(obj.body, type=Object)
    except FAILURES:
        return {}
