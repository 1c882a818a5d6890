"""APIs are registered while a server answers for them, and taken off after the third miss."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from tests.deploy.rendering import registered
from tests.parts.certificates import write_certificate
from tidegate.cli.program import build_app
from tidegate.errors import ApiStatusError
from tidegate.kube.ports import JSON, Response
from tidegate.serve.visibility.guard import (
    AGAIN_S,
    MISSES_MAX,
    SERVICES,
    ApiServiceRegistrar,
    with_ca_bundle,
)

LISTED = registered()
NAMES = {obj["metadata"]["name"] for obj in LISTED}


class Registry:
    """The API server as far as it registers APIs; a simulated form of its port."""

    def __init__(self) -> None:
        self.held = dict[str, dict[str, object]]()
        self.available, self.refuses = "True", False
        self.posts = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,  # noqa: ARG002 - as the port has it
        body: bytes | None = None,
        content_type: str = JSON,  # noqa: ARG002 - as the port has it
    ) -> Response:
        name = path.removeprefix(SERVICES).strip("/")
        if self.refuses:
            return Response(403, b"{}")
        match method:
            case "POST":
                self.posts += 1
                obj = msgspec.json.decode(body or b"")
                known = self.held.setdefault(obj["metadata"]["name"], obj)
                return Response(201 if known is obj else 409, b"{}")
            case "DELETE":
                return Response(200 if self.held.pop(name, None) else 404, b"{}")
            case _:
                conditions = [{"type": "Available", "status": self.available}]
                shown = msgspec.json.encode({"status": {"conditions": conditions}})
                return Response(200 if name in self.held else 404, shown)

    def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError(path, query)


class World:
    """A server that answers or not, a clock, and the guard between them."""

    def __init__(self) -> None:
        self.api, self.up, self.now_s = Registry(), True, 0.0
        self.guard = ApiServiceRegistrar(self.api, LISTED, self._answers, lambda: self.now_s)

    async def _answers(self) -> bool:
        return self.up

    async def look(self, times: int = 1) -> set[str]:
        for _ in range(times):
            self.now_s += 3
            await self.guard.reconcile()
        return set(self.api.held)


async def test_they_come_with_the_server_and_go_with_it() -> None:
    world = World()
    world.up = False
    assert await world.look(5) == set()
    world.up = True
    world.now_s += AGAIN_S
    assert await world.look() == NAMES
    world.up = False
    assert await world.look(MISSES_MAX - 1) == NAMES  # a restart takes nothing off
    assert await world.look() == set()
    world.up = True
    assert await world.look() == set()  # what comes and goes does so once a minute
    world.now_s += AGAIN_S
    assert await world.look() == NAMES


async def test_what_the_api_server_cannot_reach_is_taken_off_though_it_answers_here() -> None:
    world = World()
    await world.look()
    world.api.available = "False"
    assert await world.look(MISSES_MAX) == set()


async def test_one_that_another_client_takes_off_comes_back() -> None:
    world = World()
    await world.look()
    world.api.held.clear()
    assert await world.look() == NAMES


async def test_what_is_registered_is_not_sent_again() -> None:
    world = World()
    await world.look(20)
    assert world.api.posts == len(NAMES)


async def test_what_the_guard_may_not_do_is_said() -> None:
    world = World()
    world.api.refuses = True
    with pytest.raises(ApiStatusError):
        await world.look()


def test_the_servers_authority_is_believed() -> None:
    assert {obj["spec"]["caBundle"] for obj in with_ca_bundle(LISTED, "pem")} == {"cGVt"}
    assert not any("caBundle" in obj["spec"] for obj in LISTED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 50_000, "services.yaml cannot be read: its lists and objects are nested too deeply"),
        ("{", "services.yaml is not YAML, line 1"),
        (
            "kind: Service\nmetadata: {name: a}\nspec: {}",
            "services.yaml must hold APIServices alone",
        ),
        ("[1]", "services.yaml must hold APIServices alone"),
        ("", "services.yaml holds no APIService"),
    ],
)
def test_a_file_that_holds_no_apiservices_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    certificate, _ = write_certificate(tmp_path, ["a"])
    (tmp_path / "services.yaml").write_text(text)
    words = ["guard", "--services", f"{tmp_path}/services.yaml", "--ca", str(certificate)]
    result = CliRunner().invoke(build_app(), words)
    assert result.exit_code == 1, result.exception
    assert message in result.stderr


def test_an_authority_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("no certificate")
    words = ["guard", "--services", "services.yaml", "--ca", f"{tmp_path}/ca.crt"]
    result = CliRunner().invoke(build_app(), words)
    assert result.exit_code == 2, result.exception
    assert f"--ca {tmp_path}/ca.crt is no certificate in PEM" in result.stderr
