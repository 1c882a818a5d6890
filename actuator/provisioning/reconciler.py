"""Reconcile admission checks and the workloads that wait for them, until the term is cancelled.

A change of a watched object queues a Workload; what is done follows from the Workload as it is read
then. As long as no check names this controller, checks are all that is watched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from random import Random
from typing import Any

from actuator.calls import Calls, with_preconditions
from actuator.informer import Informer, Source
from actuator.provisioning.apply_plan import PlanExecutor
from actuator.provisioning.conditions import active_patch, parameter_problem
from actuator.provisioning.observed import (
    ProvisioningRequest,
    WaitingWorkload,
    is_provisioning_check,
)
from actuator.provisioning.plan import plan
from actuator.provisioning.templates import REQUESTS
from actuator.workqueue import Due, Place, Workqueue
from actuator.writing.write import KUEUE
from tidegate.errors import ApiStatusError, TidegateError
from tidegate.kinds.kueue_api.checks import (
    AdmissionCheck,
    ProvisioningRequestConfig,
    ProvisioningRequestConfigSpec,
)
from tidegate.kinds.times import rfc3339
from tidegate.service.logs import get_log

WORKERS = 4
_FIRST_S, _MOST_S = 0.25, 60.0
_CHECK, _WORKLOAD = "AdmissionCheck", "Workload"
_log = get_log("provisioning")


class Reconciler:
    """Caches checks, configurations, requests and workloads; reconciles queued workloads."""

    def __init__(
        self, calls: Calls, random: Random, now_us: Callable[[], int], *, cleans: bool
    ) -> None:
        self._calls, self._now_us, self._cleans = calls, now_us, cleans
        self._carrier = PlanExecutor(calls, now_us)
        self._due, self._changed = Workqueue(), asyncio.Event()
        self._of = dict[str, dict[str, ProvisioningRequest]]()  # requests by Workload and uid
        self._spent = set[str]()  # uids of requests with a lost reservation
        self._checks = self._informer(
            random, "admissionchecks", AdmissionCheck, self._on_check, is_provisioning_check
        )
        self._configs = self._informer(
            random, "provisioningrequestconfigs", ProvisioningRequestConfig, self._on_config
        )
        self._workloads = self._informer(
            random,
            "workloads",
            WaitingWorkload,
            self._on_workload,
            lambda workload: bool(workload.checks),
        )
        source = Source(REQUESTS, ProvisioningRequest, self._on_request, self._enqueue_all)
        self._requests = Informer(source, calls, random)

    async def run(self) -> None:
        """Attend for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._checks.run())
            while not self._checks.items:
                await self._on_change()
            for mirror in (self._configs, self._requests, self._workloads):
                tasks.create_task(mirror.run())
            for _ in range(WORKERS):
                tasks.create_task(self._run_worker())

    def _informer(
        self,
        random: Random,
        plural: str,
        kind: type[Any],
        changed: Callable[[Any, Any], None],
        wanted_objects: Callable[[Any], bool] = lambda _: True,
    ) -> Informer[Any]:
        source = Source(f"{KUEUE}/{plural}", kind, changed, self._enqueue_all, wanted_objects)
        return Informer(source, self._calls, random)

    def _on_check(self, old: AdmissionCheck | None, new: AdmissionCheck | None) -> None:
        name = next(check.metadata.name for check in (new, old) if check is not None)
        self._enqueue([(_CHECK, name)])
        if old is None or new is None or old.spec != new.spec:
            self._enqueue(self._workloads_with_checks({name}))

    def _on_config(
        self, old: ProvisioningRequestConfig | None, new: ProvisioningRequestConfig | None
    ) -> None:
        name = next(config.metadata.name for config in (new, old) if config is not None)
        users = {
            check.metadata.name
            for check in self._checks.items.values()
            if check.spec.parameters is not None and check.spec.parameters.name == name
        }
        self._enqueue((_CHECK, user) for user in users)
        self._enqueue(self._workloads_with_checks(users))

    def _on_request(self, old: ProvisioningRequest | None, new: ProvisioningRequest | None) -> None:
        for gone in [old] if old is not None else ():
            uid, others = gone.metadata.uid, self._of.get(gone.workload, {})
            others.pop(uid, None)
            if new is None or new.metadata.uid != uid:
                self._forget_workload(uid)
        for request in [new] if new is not None and new.owner else ():
            self._carrier.made.pop(request.metadata.uid, None)
            self._of.setdefault(request.workload, {})[request.metadata.uid] = request
        self._enqueue(
            {(_WORKLOAD, request.workload) for request in (old, new) if request is not None}
        )

    def _forget_workload(self, uid: str) -> None:
        for uids in (self._carrier.gone, self._carrier.handed, self._spent):
            uids.discard(uid)

    def _on_workload(self, old: WaitingWorkload | None, new: WaitingWorkload | None) -> None:
        workload = new or old
        assert workload is not None, "a change has an old or a new object"
        requests = self._of.get(workload.key, {})
        if self._cleans and (new is None or not new.reserved):
            self._spent |= requests.keys()
        if requests or any(name in self._checks.items for name in workload.checks):
            self._enqueue([(_WORKLOAD, workload.key)])

    def _enqueue_all(self) -> None:
        self._enqueue((_CHECK, name) for name in self._checks.items)
        self._enqueue(self._workloads_with_checks(set(self._checks.items)))

    def _workloads_with_checks(self, checks: set[str]) -> Iterator[Place]:
        for key, workload in self._workloads.items.items():
            if not checks.isdisjoint(workload.checks):
                yield _WORKLOAD, key

    def _enqueue(self, places: Iterable[Place], tries: int = 0) -> None:
        for place in places:
            self._due.add(place, tries=tries)
        self._changed.set()

    async def _run_worker(self) -> None:
        while True:
            due = await self._next_due()
            try:
                await self._reconcile(due.place)
            except TidegateError as error:
                self._requeue_after(due, error)
            except Exception as error:  # noqa: BLE001 - of one object: the others go on
                _log.exception("not provided", what=due.place)
                self._requeue_after(due, error)
            finally:
                self._due.finish(due.place)
                self._changed.set()

    async def _next_due(self) -> Due:
        while True:
            due = self._due.pop_normal() if self._is_synced() else None
            if due is not None:
                return due
            await self._on_change()

    async def _on_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _is_synced(self) -> bool:
        informers = (self._checks, self._configs, self._requests, self._workloads)
        return all(mirror.complete for mirror in informers)

    def _requeue_after(self, due: Due, error: Exception) -> None:
        wait_s = min(_FIRST_S * 2 ** min(due.tries, 20), _MOST_S)
        conflict = isinstance(error, ApiStatusError) and error.status == HTTPStatus.CONFLICT
        if not conflict:
            _log.warning("cannot provision", what=due.place, error=str(error))
        loop = asyncio.get_running_loop()
        loop.call_later(wait_s, self._enqueue, [due.place], due.tries + 1)

    async def _reconcile(self, place: Place) -> None:
        kind, key = place
        if kind == _CHECK:
            await self._reconcile_check(key)
        elif self._requests.served:
            await self._reconcile_workload(key)

    async def _reconcile_check(self, name: str) -> None:
        """Say of a check whether it is active."""
        path, check = f"{KUEUE}/admissionchecks/{name}", self._checks.items.get(name)
        if check is None:
            return
        served, at = self._requests.served, rfc3339(self._now_us())
        patch = active_patch(check, self._configs.items, served=served, at=at)
        if patch:
            meta = check.metadata
            obj = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}}
            await self._calls.patch_blind(f"{path}/status", with_preconditions(patch, obj))

    async def _reconcile_workload(self, key: str) -> None:
        """Do what is to be done about one workload's requests."""
        namespace, _, name = key.partition("/")
        workload = await self._calls.read(f"{KUEUE}/namespaces/{namespace}/workloads/{name}")
        if workload is None or workload["metadata"].get("deletionTimestamp"):
            return  # what it owns goes with it
        requests = self._requests_of(key, workload["metadata"]["uid"])
        steps = plan(
            workload, self._own_checks(workload), requests, self._spent, cleans=self._cleans
        )
        await self._carrier.execute(workload, steps)

    def _requests_of(self, key: str, uid: str) -> list[ProvisioningRequest]:
        """Return a Workload's requests, also those that the watch did not show yet."""
        created, gone, version = self._carrier.made, self._carrier.gone, self._requests.version
        for old in [
            request.metadata.uid
            for request in created.values()
            if request.metadata.version <= version
        ]:
            del created[old]
        requests = {**created, **self._of.get(key, {})}
        mine = [request for request in requests.values() if request.owner == uid]
        return [request for request in mine if request.metadata.uid not in gone]

    def _own_checks(
        self, workload: dict[str, Any]
    ) -> dict[str, ProvisioningRequestConfigSpec | None]:
        """Return this controller's checks of a Workload, with their configurations."""
        checks = [state["name"] for state in workload.get("status", {}).get("admissionChecks", ())]
        return {name: self._config_of(name) for name in checks if name in self._checks.items}

    def _config_of(self, check: str) -> ProvisioningRequestConfigSpec | None:
        parameters = self._checks.items[check].spec.parameters
        if parameters is None or parameter_problem(parameters, self._configs.items):
            return None
        spec: ProvisioningRequestConfigSpec = self._configs.items[parameters.name].spec
        return spec
