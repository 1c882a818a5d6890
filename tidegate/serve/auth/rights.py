"""The rights of a user: to see everything, some namespaces, or queues without their workloads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from tidegate.jobs.kind import JobKind
from tidegate.serve.auth.reviews import Person, Right
from tidegate.serve.refusals import forbidden

LIST_WORKLOADS = Right(verb="list", resource="workloads")
LIST_QUEUES = Right(verb="list", resource="clusterqueues")


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """The namespaces whose workloads a user may see by name."""

    everything: bool = False
    namespaces: frozenset[str] = frozenset()
    job_kind: str = ""  # only of workloads that are made of such a job; empty: of any

    def key(self) -> str:
        """Return the same text for the same sight."""
        if self.everything:
            return "*"
        return ",".join(sorted(self.namespaces)) + " " + self.job_kind


class Judge(Protocol):
    """Authorizes users: ``tidegate.serve.auth.reviews.Reviews``."""

    async def may(self, person: Person, right: Right) -> bool:
        """Return whether a user has a right."""
        ...


class Rights:
    """The rights that the API server's answers give a user here."""

    def __init__(self, judge: Judge | None) -> None:
        """``judge`` None: only people of this machine are served, and they may see everything."""
        self._judge = judge

    async def may(self, person: Person, right: Right) -> bool:
        """Return whether a user has a right in Kubernetes."""
        return person.local or (self._judge is not None and await self._judge.may(person, right))

    async def everything(self, person: Person) -> Sight:
        """Return the sight of a user who may list all Workloads.

        Raises:
            RefusalError: they may not.
        """
        if not await self.may(person, LIST_WORKLOADS):
            raise forbidden(
                person.name, "list workloads.kueue.x-k8s.io in all namespaces: ask of one namespace"
            )
        return Sight(everything=True)

    async def namespace(self, person: Person, namespace: str) -> Sight:
        """Return the sight of a user who may list the Workloads of a namespace.

        Raises:
            RefusalError: they may not.
        """
        if await self.may(person, LIST_WORKLOADS):
            return Sight(everything=True)
        right = msgspec.structs.replace(LIST_WORKLOADS, namespace=namespace)
        if not await self.may(person, right):
            raise forbidden(person.name, f"list workloads.kueue.x-k8s.io in {namespace!r}")
        return Sight(namespaces=frozenset((namespace,)))

    async def workload(self, person: Person, namespace: str, jobs: Iterable[JobKind[Any]]) -> Sight:
        """Return the sight of a user who may get Workloads or jobs of a kind in a namespace.

        Raises:
            RefusalError: they may neither; it is the same whether there is such a workload or not.
        """
        if await self.may(person, LIST_WORKLOADS):
            return Sight(everything=True)
        sight = Sight(namespaces=frozenset((namespace,)))
        if await self.may(person, Right(verb="get", resource="workloads", namespace=namespace)):
            return sight
        for job in jobs:
            place = {"group": job.group, "resource": job.plural, "namespace": namespace}
            if await self.may(person, Right(verb="get", **place)):
                return msgspec.structs.replace(sight, job_kind=job.name)
        raise forbidden(person.name, f"get workloads or jobs in {namespace!r}")

    async def pending(self, person: Person, namespace: str, queue: str) -> Sight:
        """Return the sight of a user who may get a queue's ``pendingworkloads``: all of them.

        ``namespace`` is a LocalQueue's; empty: it is a ClusterQueue's.

        Raises:
            RefusalError: they may not.
        """
        resource = "localqueues" if namespace else "clusterqueues"
        right = Right(
            verb="get",
            group="visibility.kueue.x-k8s.io",
            resource=resource,
            subresource="pendingworkloads",
            namespace=namespace,
            name=queue,
        )
        if not await self.may(person, right):
            raise forbidden(person.name, f"get pendingworkloads of {resource} {queue!r}")
        return Sight(everything=True)

    async def queues(self, person: Person) -> Sight:
        """Return the sight of a user who may list ClusterQueues: no workloads, or all if allowed.

        Raises:
            RefusalError: they may not.
        """
        if await self.may(person, LIST_WORKLOADS):
            return Sight(everything=True)
        if not await self.may(person, LIST_QUEUES):
            raise forbidden(person.name, "list clusterqueues.kueue.x-k8s.io")
        return Sight()
