"""The rights of a user: to see everything, some namespaces, or queues without their workloads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from tidegate.jobs.kind import JobKind
from tidegate.serve.auth.reviews import Right, User
from tidegate.serve.refusals import forbidden_error

LIST_WORKLOADS = Right(verb="list", resource="workloads")
LIST_QUEUES = Right(verb="list", resource="clusterqueues")


class Visibility(msgspec.Struct, frozen=True, kw_only=True):
    """The namespaces whose workloads a user may see by name."""

    everything: bool = False
    namespaces: frozenset[str] = frozenset()
    job_kind: str = ""  # only of workloads that are made of such a job; empty: of any

    def key(self) -> str:
        """Return the same text for the same sight."""
        if self.everything:
            return "*"
        return ",".join(sorted(self.namespaces)) + " " + self.job_kind


class Authorizer(Protocol):
    """Authorizes users: ``tidegate.serve.auth.reviews.AccessReviewer``."""

    async def is_allowed(self, person: User, right: Right) -> bool:
        """Return whether a user has a right."""
        ...


class Rights:
    """The rights that the API server's answers give a user here."""

    def __init__(self, judge: Authorizer | None) -> None:
        """``judge`` None: only people of this machine are served, and they may see everything."""
        self._authorizer = judge

    async def is_allowed(self, person: User, right: Right) -> bool:
        """Return whether a user has a right in Kubernetes."""
        return person.local or (
            self._authorizer is not None and await self._authorizer.is_allowed(person, right)
        )

    async def visibility_of_all(self, person: User) -> Visibility:
        """Return the sight of a user who may list all Workloads.

        Raises:
            RefusalError: they may not.
        """
        if not await self.is_allowed(person, LIST_WORKLOADS):
            raise forbidden_error(
                person.name, "list workloads.kueue.x-k8s.io in all namespaces: ask of one namespace"
            )
        return Visibility(everything=True)

    async def visibility_of_namespace(self, person: User, namespace: str) -> Visibility:
        """Return the sight of a user who may list the Workloads of a namespace.

        Raises:
            RefusalError: they may not.
        """
        if await self.is_allowed(person, LIST_WORKLOADS):
            return Visibility(everything=True)
        right = msgspec.structs.replace(LIST_WORKLOADS, namespace=namespace)
        if not await self.is_allowed(person, right):
            raise forbidden_error(person.name, f"list workloads.kueue.x-k8s.io in {namespace!r}")
        return Visibility(namespaces=frozenset((namespace,)))

    async def visibility_of_workload(
        self, person: User, namespace: str, jobs: Iterable[JobKind[Any]]
    ) -> Visibility:
        """Return the sight of a user who may get Workloads or jobs of a kind in a namespace.

        Raises:
            RefusalError: they may neither; it is the same whether there is such a workload or not.
        """
        if await self.is_allowed(person, LIST_WORKLOADS):
            return Visibility(everything=True)
        sight = Visibility(namespaces=frozenset((namespace,)))
        if await self.is_allowed(
            person, Right(verb="get", resource="workloads", namespace=namespace)
        ):
            return sight
        for job in jobs:
            place = {"group": job.group, "resource": job.plural, "namespace": namespace}
            if await self.is_allowed(person, Right(verb="get", **place)):
                return msgspec.structs.replace(sight, job_kind=job.name)
        raise forbidden_error(person.name, f"get workloads or jobs in {namespace!r}")

    async def visibility_of_pending(self, person: User, namespace: str, queue: str) -> Visibility:
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
        if not await self.is_allowed(person, right):
            raise forbidden_error(person.name, f"get pendingworkloads of {resource} {queue!r}")
        return Visibility(everything=True)

    async def visibility_of_queues(self, person: User) -> Visibility:
        """Return the sight of a user who may list ClusterQueues: no workloads, or all if allowed.

        Raises:
            RefusalError: they may not.
        """
        if await self.is_allowed(person, LIST_WORKLOADS):
            return Visibility(everything=True)
        if not await self.is_allowed(person, LIST_QUEUES):
            raise forbidden_error(person.name, "list clusterqueues.kueue.x-k8s.io")
        return Visibility()
