"""Clusters of which some run Kueue itself and some Tidegate, as managers and workers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.deploy.test_dispatcher import kubeconfig_of_the_manager
from tests.e2e.among_clusters import (
    GROUP,
    MANAGER,
    NAME,
    SET_CONTROLLER,
    SYSTEM,
    Site,
    World,
    describe,
    furnish,
    tidegate,
)
from tests.e2e.cast import define, make_queues
from tests.e2e.kueue_manager import Kueue, kueue
from tests.e2e.kueue_manifests import NAMESPACE
from tests.e2e.kueue_module import KueueModule
from tests.e2e.operators import at_work
from tests.parts.foreign import foreign_crd
from tests.parts.kubernetes import fresh_plane
from tidegate.cluster.running import RunningServices
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "pod")
KUEUE, TIDEGATE = "kueue", "tidegate"
AT_ONCE = "\n".join(MANAGER.splitlines()[:3])  # no dispatcher is named: all workers are asked


@asynccontextmanager
async def clusters(
    folder: Path, module: KueueModule, m: str, **workers: str
) -> AsyncGenerator[World]:
    """Bring up a manager and workers, each running what is named: ``KUEUE`` or ``TIDEGATE``."""
    sites = dict[str, Site]()
    async with AsyncExitStack() as stack:
        for name, runs in {**workers, "m": m}.items():
            plane = stack.enter_context(fresh_plane(folder / name))
            access = Access(kubeconfig=str(plane.kubeconfig))
            api = await stack.enter_async_context(connect(access))
            await define(api, foreign_crd("jobset"))
            running: RunningServices | Kueue
            if runs == KUEUE:
                begun = kueue(api, plane, module, folder / name, FRAMEWORKS)
                running = await stack.enter_async_context(begun)
                await make_queues(api, {NAME: "2"})
            else:
                await furnish(api, FRAMEWORKS)
                rest = AT_ONCE if name == "m" else ""
                begins = tidegate(plane, folder / name, FRAMEWORKS, rest)
                running = await stack.enter_async_context(begins)
            if name != "m":
                await stack.enter_async_context(at_work(api, SET_CONTROLLER))
            sites[name] = Site(plane, api, running)
        manager = sites.pop("m")
        mapping = {
            name: await kubeconfig_of_the_manager(site.api, site.plane)
            for name, site in sites.items()
        }
        await describe(manager.api, mapping, NAMESPACE if m == KUEUE else SYSTEM)
        yield World(manager, sites)


async def stop(site: Site, policy: str) -> None:
    """Hold or drain the queue of a cluster, or open it again."""
    await site.change(f"{GROUP}/clusterqueues/{NAME}", {"spec": {"stopPolicy": policy}})
