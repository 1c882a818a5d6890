"""Of a LocalQueue's labels only those are kept that metrics select by: users write any."""

from __future__ import annotations

from ingest.jobs.scope import Scope
from ingest.resources import watched
from tidegate.contracts import facts
from tidegate.contracts.observations import LocalQueueObserved
from tidegate.core.accepting.definitions import accept_definition
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.queues.objects import LocalQueue


def observed(scope: Scope, version: str, **labels: str) -> LocalQueueObserved:
    """Return what a watch of this scope observes of a LocalQueue."""
    meta = {"name": "main", "namespace": "ns", "uid": "u", "resourceVersion": version}
    raw = {"metadata": {**meta, "labels": labels}, "spec": {"clusterQueue": "cq"}}
    row = next(row for row in watched((), scope) if row.resource.startswith("localqueues."))
    ((_, observation),) = row.observe(read(raw, LocalQueue))
    assert isinstance(observation, LocalQueueObserved)
    return observation


def test_labels_are_kept_by_which_metrics_select() -> None:
    scope = Scope(queue_labels=("team", "tier"))
    assert observed(scope, "1", team="a", other="b").labels == {"team": "a"}
    assert observed(Scope(), "1", team="a").labels == {}


def test_only_a_label_that_is_kept_makes_a_fact_of_its_change() -> None:
    state, scope = State(), Scope(queue_labels=("team",))

    def taken(version: str, **labels: str) -> list[dict[str, str]]:
        events = list(accept_definition(state, 1, observed(scope, version, **labels)))
        for event in events:
            apply(state, event)
        return [event.labels for event in events if isinstance(event, facts.LocalQueueDefined)]

    assert taken("1", team="a", release="1") == [{"team": "a"}]
    assert taken("2", team="a", release="2") == []
    assert taken("3", team="b", release="2") == [{"team": "b"}]
    assert state.objects.local_queues["ns/main"].labels == {"team": "b"}
