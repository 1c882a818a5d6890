"""The bugs by name, as whoever makes one would call it."""

from __future__ import annotations

from tests.simulation.bugs import bus_bugs, cluster_bugs
from tests.simulation.bugs.swapping import Bug

BUGS: dict[str, Bug] = {
    "acknowledge before commit": bus_bugs.acknowledge_before_commit,
    "drop the resourceVersion of a patch": cluster_bugs.resource_version_dropped,
    "relist suppressed": bus_bugs.relist_suppressed,
    "hole ignored": bus_bugs.hole_ignored,
    "stream recreated unnoticed": bus_bugs.stream_recreated_unnoticed,
    "release on stale inactivity": cluster_bugs.release_on_stale_inactivity,
    "id of the ledger ignored": cluster_bugs.ledger_id_ignored,
    "second ingest lagging": cluster_bugs.second_ingest_lagging,
    "presence by messages": cluster_bugs.presence_by_messages,
    "publish retry taken for a fence": bus_bugs.publish_retry_taken_for_a_fence,
}
KNOWN: dict[str, tuple[int, ...]] = {
    "acknowledge before commit": (11,),
    "drop the resourceVersion of a patch": (2,),
    "relist suppressed": (17,),
    "hole ignored": (98,),
    "stream recreated unnoticed": (1,),
    "release on stale inactivity": (0,),
    "id of the ledger ignored": (119,),
    "second ingest lagging": (3,),
    "presence by messages": (19,),
    "publish retry taken for a fence": (14,),
}
"""Seeds that found each, and that hold without it."""
