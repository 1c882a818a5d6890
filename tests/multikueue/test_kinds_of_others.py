"""A job of a declared kind goes to a worker cluster: as it is, and its status comes back whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.multikueue.sites import NAMESPACE, Site, until
from tests.multikueue.world import POLICY, SENT, Object, World
from tests.parts.foreign import VOYAGES, declarations, foreign_crd, voyage
from tests.parts.stage import alongside
from tests.parts.virtual import run_virtually
from tidegate.jobs import registry
from tidegate.jobs.declared import declared_kind
from tidegate.model.multikueue import CONTROLLER

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATH, DECLARED = VOYAGES.format(NAMESPACE), declarations()["voyage"]
OTHERS = replace(POLICY, multikueue=replace(SENT, kinds=(DECLARED.name,)))


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_DECLARED", {DECLARED.name})
    monkeypatch.setitem(registry.JOB_KINDS, DECLARED.name, declared_kind(DECLARED))  # to be undone
    registry.register_declared([DECLARED], remote_kinds=(DECLARED.name,))


def made(controller: str) -> Object:
    """Return a Voyage that names its controller."""
    obj = voyage("far")
    return {**obj, "spec": {**obj["spec"], "anchored": True, "managedBy": controller}}


def world() -> World:
    """Return three clusters that know Voyages."""
    actual_world = World(OTHERS, quotas=("4", "4"))
    for site in (actual_world.manager, *actual_world.workers.values()):
        site.kinds = (*site.kinds, DECLARED.name)
        site.stage.make(CRDS, foreign_crd("voyage"))
    return actual_world


def say(site: Site, **status: object) -> None:
    """Write a status, as the kind's controller of a cluster does."""
    site.stage.change(f"{PATH}/far/status", {"status": status})


def test_a_voyage_runs_on_a_worker_and_its_end_is_seen_here() -> None:
    async def live() -> None:
        far = world()
        async with far.running(), alongside(far.manager.dispatch()):
            far.manager.stage.make(PATH, made(CONTROLLER))
            there, other = await far.chosen()
            await until(lambda: not there.items(PATH)[0]["spec"]["anchored"], "it may go there")
            assert "managedBy" not in there.items(PATH)[0]["spec"]
            assert not other.items(PATH)
            say(there, phase="AtSea", aboard=2, sailing=True)
            await until(lambda: here(far).get("sailing") is True, "seen here")
            say(there, phase="Home", aboard=0, sailing=False, note="All well.")
            await until(lambda: far.holds("Finished"), "it is finished here")
            assert here(far)["note"] == "All well."
            await until(lambda: not there.items(PATH) and far.is_clean(), "nothing is left")

    run_virtually(live())


def here(far: World) -> Object:
    fields: Object = far.manager.items(PATH)[0].get("status", {})
    return fields


@pytest.mark.parametrize(
    ("kinds", "controller", "text"),
    [
        ((DECLARED.name,), "", 'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue"'),
        ((), CONTROLLER, "No multikueue adapter found"),
    ],
)
def test_a_voyage_that_cannot_be_sent_is_rejected(
    kinds: tuple[str, ...], controller: str, text: str
) -> None:
    async def live() -> None:
        far = world()
        far.manager.policy = replace(OTHERS, multikueue=replace(SENT, kinds=kinds))
        async with far.running(), alongside(far.manager.dispatch()):
            far.manager.stage.make(PATH, made(controller))
            await until(lambda: far.holds("Evicted"), "it is rejected")
            messages = [condition["message"] for condition in far.status()["conditions"]]
            assert any(text in message for message in messages), messages
            assert not any(site.items(PATH) for site in far.workers.values())

    run_virtually(live())
