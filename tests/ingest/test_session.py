"""A session of ingest over the embedded API server, on a clock that jumps.

Everything that is reported is read back from OBSERVATIONS, as the scheduler reads it.
"""

from __future__ import annotations

import asyncio

from tests.ingest.scene import gone, jobs, rounds, session
from tests.parts.interposed import Interposed
from tests.parts.stage import CRDS, JOBS, KUEUE, Stage, alongside, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.codec import decode_observation
from tidegate.contracts.entry import Position
from tidegate.contracts.observations import (
    ClusterQueueObserved,
    Heartbeat,
    JobObserved,
    NamespaceObserved,
    ObjectGone,
    ObjectRefused,
    SyncCompleted,
    SyncStarted,
)

FLAVOR = kueue("ResourceFlavor", "spot", nodeLabels={"type": "spot"})


def test_the_first_round_names_the_uids_present_between_its_brackets() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, job())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        observations = await stage.heard()
        mine = [obs for obs in observations if getattr(obs, "resource", "") == "jobs.batch"]
        started, completed = mine
        assert isinstance(started, SyncStarted)
        assert isinstance(completed, SyncCompleted)
        assert completed.present == (made["metadata"]["uid"],)
        assert (completed.round, completed.piece, completed.pieces) == (1, 1, 1)
        (seen,) = await jobs(stage)
        assert (seen.queue, seen.round, seen.session) == ("main", 1, "s1")
        assert (
            observations.index(started) < observations.index(seen) < observations.index(completed)
        )

    run_virtually(run())


def test_the_heart_beats_once_a_second_while_every_watch_is_open_and_names_them() -> None:
    async def run() -> None:
        stage = Stage()
        async with alongside(session(stage).run()):
            await asyncio.sleep(4.5)
            beats = [obs for obs in await stage.heard() if isinstance(obs, Heartbeat)]
            stage.api.down = True
            stage.embedded.compact()
            await asyncio.sleep(200)
            later = [obs for obs in await stage.heard() if isinstance(obs, Heartbeat)]
            stage.api.down = False
            await stage.hear(Heartbeat, lambda beat: beat.beat > 200)
        assert [beat.beat for beat in beats] == [1, 2, 3, 4, 5]
        assert "jobs.batch" in beats[0].resources
        assert len(later) < 100  # open watches of a server that is gone end within a minute

    run_virtually(run())


def test_a_relist_tells_the_uids_present_again_and_nothing_that_is_known() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, job())
        async with alongside(session(stage).run()):
            await asyncio.sleep(1_500)
        assert [obs.round for obs in await rounds(stage, "jobs.batch")] == [1, 2, 3]
        assert len(await jobs(stage)) == 1

    run_virtually(run())


def test_a_request_of_the_scheduler_makes_it_tell_everything_again() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, job())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            await stage.bus.observation_reader().request_resync("a hole")
            await stage.hear(JobObserved, lambda candidate_job: candidate_job.round == 2)
        assert [candidate_job.round for candidate_job in await jobs(stage)] == [1, 2]

    run_virtually(run())


def test_a_watch_that_ends_resumes_where_it_ended_without_a_list() -> None:
    async def run() -> None:
        stage = Stage()
        async with alongside(session(stage).run()):
            await asyncio.sleep(300)  # the server ended each watch several times
            stage.make(JOBS, job())
            seen = await stage.hear(JobObserved)
        assert seen.round == 0
        assert len(await rounds(stage, "jobs.batch")) == 1

    run_virtually(run())


def test_a_version_that_is_too_old_leads_to_a_list_that_misses_no_deletion() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, job())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.api.down = True
            await asyncio.sleep(120)  # every watch has ended, and none can be opened
            stage.remove(f"{JOBS}/train")
            other = stage.make(JOBS, job("other"))
            stage.embedded.compact()
            stage.api.down = False
            await stage.hear(JobObserved, lambda candidate_job: candidate_job.name == "other")
            await stage.hear(SyncCompleted, lambda obs: obs.round == 2)
        assert await gone(stage) == []  # no watch saw it go: the round says what is there
        first, second = await rounds(stage, "jobs.batch")
        assert first.present == (made["metadata"]["uid"],)
        assert second.present == (other["metadata"]["uid"],)

    run_virtually(run())


def test_a_deletion_that_is_watched_is_reported() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, job())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.remove(f"{JOBS}/train")
            observations = await stage.hear(ObjectGone)
        assert (observations.uid, observations.resource) == (made["metadata"]["uid"], "jobs.batch")
        assert observations.version > int(made["metadata"]["resourceVersion"])

    run_virtually(run())


def test_an_object_that_cannot_be_read_is_refused_and_the_others_go_on() -> None:
    async def run() -> None:
        stage = Stage()
        bad = job("elastic")
        bad["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
        stage.make(JOBS, bad)
        stage.make(JOBS, job("good"))
        async with alongside(session(stage).run()):
            refused = await stage.hear(ObjectRefused)
            await stage.hear(JobObserved, lambda candidate_job: candidate_job.name == "good")
            stage.change(f"{JOBS}/elastic", {"metadata": {"annotations": None}})
            await stage.hear(JobObserved, lambda candidate_job: candidate_job.name == "elastic")
        assert (refused.resource, refused.name) == ("jobs.batch", "elastic")
        assert "Elastic jobs are not enabled" in refused.error

    run_virtually(run())


def test_time_stands_still_until_the_crds_are_installed() -> None:
    async def run() -> None:
        stage = Stage(with_crds=False)
        ingest = session(stage)
        async with alongside(ingest.run()):
            await asyncio.sleep(60)
            assert not [obs for obs in await stage.heard() if isinstance(obs, Heartbeat)]
            assert "clusterqueues.kueue.x-k8s.io: its CRD is not installed" in ingest.waits_for()
            stage.install_crds()
            await stage.hear(Heartbeat)
        assert ingest.waits_for() != ""  # it was killed

    run_virtually(run())


def test_a_thousand_uids_fit_in_a_piece() -> None:
    async def run() -> None:
        stage = Stage()
        for at in range(1_200):
            stage.make("/api/v1/namespaces", {"metadata": {"name": f"n{at}"}})
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        first, second = await rounds(stage, "namespaces")
        assert (len(first.present), len(second.present)) == (1_000, 204)
        assert [(obs.piece, obs.pieces) for obs in (first, second)] == [(1, 2), (2, 2)]
        observations = [obs for obs in await stage.heard() if isinstance(obs, NamespaceObserved)]
        assert {obs.uid for obs in observations} == {*first.present, *second.present}

    run_virtually(run())


def test_a_full_stream_holds_the_watch_back_and_nothing_is_lost() -> None:
    async def run() -> None:
        stage = Stage(observations_max=60)
        async with alongside(session(stage).run()):
            await asyncio.sleep(10)
            for number in range(300):
                stage.make(JOBS, job(f"j{number}"))
            at, names = Position(), set[str]()
            while len(names) < 300:
                read = await stage.bus.observation_reader().pull(at, count_max=1_000, wait_s=1)
                observations = [decode_observation(message.payload) for message in read]
                names |= {obs.name for obs in observations if isinstance(obs, JobObserved)}
                at = read[-1].at if read else at
                await stage.bus.observation_reader().purge_through(at)
                await asyncio.sleep(1)
        assert names == {f"j{at}" for at in range(300)}

    run_virtually(run())


def test_a_change_that_no_decision_depends_on_is_not_reported() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(f"{KUEUE}/resourceflavors", FLAVOR)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            path = f"{KUEUE}/resourceflavors/spot"
            stage.change(path, {"metadata": {"labels": {"seen": "no"}}})
            await asyncio.sleep(5)
            before = len(await stage.heard())
            stage.change(path, {"spec": {"nodeLabels": {"type": "on-demand"}}})
            await asyncio.sleep(0.5)
        observations = (await stage.heard())[before:]
        assert [type(obs).__name__ for obs in observations if not isinstance(obs, Heartbeat)] == [
            "FlavorObserved"
        ]

    run_virtually(run())


def test_a_session_that_lags_says_by_its_versions_that_it_tells_of_the_past() -> None:
    async def run() -> None:
        stage = Stage()
        late = Interposed(stage.embedded)
        late.lag_s = 30
        first, second = session(stage), session(stage, "s2", api=late)
        async with alongside(first.run()), alongside(second.run()):
            await asyncio.sleep(5)
            stage.make(JOBS, job())
            stage.change(f"{JOBS}/train", {"spec": {"parallelism": 2}})
            await stage.hear(JobObserved, lambda candidate_job: candidate_job.session == "s2")
        observations = await jobs(stage)
        assert [candidate_job.session for candidate_job in observations[:3]] == ["s1", "s1", "s2"]
        assert observations[2].version == observations[0].version < observations[1].version

    run_virtually(run())


def test_a_queue_whose_amounts_cannot_be_read_is_refused() -> None:
    async def run() -> None:
        stage = Stage(with_crds=False)
        stage.install_crds()
        crd = "clusterqueues.kueue.x-k8s.io"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        obj = stage.read(f"{CRDS}/{crd}")
        for version in obj["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"] = schema
        stage.change(f"{CRDS}/{crd}", {"spec": obj["spec"]})
        flavors = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "many"}]}]
        groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
        queues = f"{KUEUE}/clusterqueues"
        stage.make(queues, kueue("ClusterQueue", "bad", resourceGroups=groups))
        stage.make(queues, kueue("ClusterQueue", "good"))
        async with alongside(session(stage).run()):
            refused = await stage.hear(ObjectRefused)
            await stage.hear(ClusterQueueObserved, lambda obs: obs.name == "good")
        assert "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota" in refused.error

    run_virtually(run())
