"""What ``tidegate doctor`` looks at; each finding has a fixed code and says what to do."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator

from tidegate.bus.looking import Looked, look
from tidegate.cli.finding import Finding, good, wrong
from tidegate.cli.instance import Instance, is_running
from tidegate.cli.objects.asking import Asking, Object
from tidegate.cli.reading import Reader
from tidegate.cli.rights import examine_rights
from tidegate.cluster.install import includes, manifests_folder, read_manifests
from tidegate.contracts.entry import Entry
from tidegate.core.draft import Draft
from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    BusRefusedError,
    BusUnreachableError,
    ChainError,
    LostTailError,
    UndecodableError,
)
from tidegate.replay.travel import as_of as folded

ROOMS = {"crds": "Crds", "policies": "Policies", "rbac": "Rights"}
"""Folders of manifests that belong in the cluster, and how their findings are called."""
_DEPLOYMENTS = "/apis/apps/v1/deployments"
_PART_OF = "app.kubernetes.io/part-of"
_INSTALL = "`tidegate up`, or apply the manifests again (docs/operations.md)"
_LACKS = {
    "Missing": _INSTALL,
    "Differ": _INSTALL,
    "Foreign": "remove what it belongs to first (docs/migrating-from-kueue.md)",
    "Unknown": "ask with the right to look at it",
}
_NOT_FOUND = 404


def examine_ledger(reader: Reader) -> Iterator[Finding]:
    """Read the whole ledger: its chain, its writer, its watches."""
    told = reader.info() if reader.engine is not None else {}
    try:
        draft, head = folded(reader.entries("verifying"))
    except (ChainError, UndecodableError) as error:
        yield wrong("ChainBroken", str(error), "restore it: docs/runbook.md")
        return
    yield good("ChainIntact", f"{head.seq} events of ledger {draft.ledger_id}")
    yield _watches(draft)
    if told:
        writer = told["writer"]
        yield (
            good("WriterLeads", f"{writer} in term {told['term']}")
            if writer
            else wrong("NoWriter", "no scheduler holds the lease", "start one, and see its log")
        )


def examine_bus(  # noqa: PLR0913 - how NATS is joined
    url: str,
    ledger_id: str,
    head: Entry | None,
    *,
    cluster: str = "local",
    credentials: str = "",
    ca: str = "",
) -> Iterator[Finding]:
    """Look at the streams, and at how far EVENTS got compared with the ledger's head."""
    try:
        seen = asyncio.run(look(url, cluster=cluster, credentials=credentials, ca=ca))
    except BusUnreachableError as error:
        yield wrong("BusUnreachable", str(error), "start NATS, or give --bus the right URL")
        return
    except BusRefusedError as error:
        yield wrong("BusRefuses", str(error), "give the user the rights of deploy/nats")
        return
    restart = "restart the scheduler, which makes and changes streams"
    for name in seen.missing:
        yield wrong("StreamMissing", f"there is no stream {name}", restart)
    for text in seen.differing:
        yield wrong("StreamDiffers", text, restart)
    if not seen.missing and not seen.differing:
        yield good("StreamsInPlace", "all streams are as wanted")
    if head is not None:
        yield from _published(seen, ledger_id, head)


def examine_cluster(api: Asking) -> Iterator[Finding]:
    """Compare what was installed with the manifests of this version, and ask the services."""
    try:
        version = api.send("GET", "/version")["gitVersion"]
    except ApiUnreachableError as error:
        yield wrong("ApiUnreachable", str(error), "check --kubeconfig, or `tidegate cluster up`")
        return
    yield good("ApiAnswers", f"Kubernetes {version}")
    for room, called in ROOMS.items():
        wanted = list(read_manifests(manifests_folder() / room))
        yield from _installation(api, called, wanted)
    yield from examine_rights(api)
    yield from _services(api)


def examine_instance(instance: Instance) -> Finding:
    """Tell whether the instance that was started here runs."""
    if is_running(instance):
        return good("InstanceRuns", f"pid {instance.pid}")
    return wrong("InstanceStopped", "what `tidegate up` started has ended", "`tidegate up`")


def _watches(draft: Draft) -> Finding:
    waiting = [
        resource
        for resource in draft.expected or ()
        if resource not in draft.rounds or not draft.rounds[resource].completed
    ]
    if draft.expected is None:
        return wrong("WatchesUnknown", "no ingest has told anything", "start ingest")
    if waiting:
        text = f"not listed whole yet: {', '.join(waiting)}"
        return wrong("WatchesIncomplete", text, "see ingest's log: rights, or a missing CRD")
    return good("WatchesComplete", f"{len(draft.expected)} resources")


def _published(seen: Looked, ledger_id: str, head: Entry) -> Iterator[Finding]:
    if seen.witness is None:
        yield wrong("EventsEmpty", "EVENTS holds nothing", "start the scheduler, which publishes")
    elif seen.witness.ledger_id != ledger_id:
        text = f"EVENTS is of ledger {seen.witness.ledger_id}, not {ledger_id}"
        yield wrong("OtherLedger", text, "name the ledger and the bus of one installation")
    elif seen.witness.seq > head.seq:
        yield wrong(
            "LedgerLostTail",
            str(LostTailError(seen.witness.seq, head.seq)),
            "`tidegate ledger recover` (docs/runbook.md)",
        )
    elif seen.witness.seq < head.seq:
        behind = head.seq - seen.witness.seq
        yield wrong("EventsBehind", f"{behind} events are not published", "see the scheduler's log")
    else:
        yield good("EventsCaughtUp", f"EVENTS ends at seq {head.seq} as the ledger does")


def _installation(api: Asking, called: str, wanted: list[Object]) -> Iterator[Finding]:
    """Say in one line of each sort what is not as wanted, or that all of it is."""
    names = defaultdict[str, list[str]](list)
    for one in wanted:
        names[_lack(api, called, one)].append(f"{one['kind']} {one['metadata']['name']}")
    right = names.pop("", [])
    if not names:
        yield good(f"{called}InPlace", f"{len(right)} objects as wanted")
    for code, found in names.items():
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield wrong(f"{called}{code}", f"{found[0]}{more}", _LACKS[code])


def _lack(api: Asking, called: str, wanted: Object) -> str:
    """Return how an object is not as wanted; empty if it is."""
    metadata, kind = wanted["metadata"], wanted["kind"]
    place = metadata.get("namespace", ""), metadata["name"]
    try:
        found = api.find(api.place(wanted["apiVersion"], kind, *place))
    except ApiStatusError as error:
        return "Missing" if error.status == _NOT_FOUND else "Unknown"
    if found is None:
        return "Missing"
    if called == "Crds" and not (found["metadata"].get("labels") or {}).get(_PART_OF):
        return "Foreign"
    return "" if includes(found, wanted) else "Differ"


def _services(api: Asking) -> Iterator[Finding]:
    try:
        found = api.every(_DEPLOYMENTS, f"{_PART_OF}=tidegate")
    except ApiStatusError as error:
        if error.status != _NOT_FOUND:
            yield wrong("ServicesUnknown", error.message, "ask with the right to list Deployments")
            return
        found = []
    if not found:
        yield good("ServicesElsewhere", "no Deployment of Tidegate is in there")
    for one in found:
        wanted = one["spec"].get("replicas", 1)
        ready = (one.get("status") or {}).get("readyReplicas", 0)
        name = f"{one['metadata']['namespace']}/{one['metadata']['name']}"
        if ready < wanted:
            text = f"{name}: {ready} of {wanted} ready"
            yield wrong("ServiceNotReady", text, f"kubectl -n {name.replace('/', ' logs deploy/')}")
        else:
            yield good("ServiceReady", f"{name}: {ready} ready")
