"""The client over real sockets, against a server that does what a test says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from tidegate.errors import ApiStatusError, ApiUnreachableError, NotSupportedError
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import MERGE_PATCH

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
PATH = "/apis/batch/v1/jobs"
TOKEN = "t"  # noqa: S105 - of a server that takes any


@asynccontextmanager
async def server(handler: Handler) -> AsyncGenerator[str]:
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def kubeconfig(folder: Path, url: str, token: str) -> str:
    path = folder / "kubeconfig"
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    path.write_text(yaml.safe_dump(config))
    return str(path)


async def all_lines(api: KubernetesClient) -> list[bytes]:
    async with api.watch(PATH, {}) as lines:
        return [line async for line in lines]


async def test_a_request_goes_out_and_comes_back_as_bytes() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        names = [request.method, request.path_qs, request.content_type, await request.text()]
        return web.json_response([*names, request.headers.get("Authorization")], status=409)

    async with server(answer) as url, connect(Access(url=url, token=TOKEN)) as api:
        got = await api.request(
            "PATCH", PATH, query={"a": "b c"}, body=b'{"x":1}', content_type=MERGE_PATCH
        )
    assert got.status == 409
    assert got.body == (
        b'["PATCH", "/apis/batch/v1/jobs?a=b+c", "application/merge-patch+json", '
        b'"{\\"x\\":1}", "Bearer t"]'
    )


async def test_the_impersonated_user_goes_with_every_request() -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(text=request.headers.get("Impersonate-User", ""))

    async with server(answer) as url, connect(Access(url=url, impersonate="bob")) as api:
        assert (await api.request("GET", PATH)).body == b"bob"


@pytest.mark.parametrize("quick", [False, True])
async def test_a_server_that_is_not_there_is_unreachable(*, quick: bool) -> None:
    async with connect(Access(url="http://127.0.0.1:1", quick=quick)) as api:
        with pytest.raises(ApiUnreachableError, match="got no answer"):
            await api.request("GET", PATH)
        with pytest.raises(ApiUnreachableError, match="got no answer"):
            async with api.watch(PATH, {}):
                pass


async def test_a_server_that_never_answers_is_unreachable() -> None:
    async def answer(_request: web.BaseRequest) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with server(answer) as url, connect(Access(url=url, request_timeout_s=0.2)) as api:
        with pytest.raises(ApiUnreachableError, match="TimeoutError"):
            await api.request("GET", PATH)


@pytest.mark.parametrize("quick", [False, True])
async def test_a_watch_yields_long_lines_and_ends_with_the_server(*, quick: bool) -> None:
    # An object of the size that etcd takes, each character of which JSON has to escape.
    long = b'{"type":"ADDED","object":"' + rb"\u003c" * 1_572_864 + b'"}\n'

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.query == {"watch": "true", "timeoutSeconds": "5"}
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(long + b"\n" + b"{}\n")
        return response

    async with (
        server(answer) as url,
        connect(Access(url=url, quick=quick)) as api,
        api.watch(PATH, {"timeoutSeconds": "5"}) as lines,
    ):
        got = [line async for line in lines]
    assert got == [long, b"{}\n"]


@pytest.mark.parametrize("quick", [False, True])
async def test_a_watch_that_is_refused_says_why(*, quick: bool) -> None:
    async def answer(_request: web.BaseRequest) -> web.Response:
        return web.json_response({"kind": "Status", "message": "too old"}, status=410)

    async with server(answer) as url, connect(Access(url=url, quick=quick)) as api:
        with pytest.raises(ApiStatusError) as caught:
            async with api.watch(PATH, {}):
                pass
    assert (caught.value.status, caught.value.message) == (410, "too old")


@pytest.mark.parametrize("quick", [False, True])
async def test_a_watch_that_breaks_is_unreachable(*, quick: bool) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"{}\n")
        assert request.transport is not None
        request.transport.abort()
        return response

    async with server(answer) as url, connect(Access(url=url, quick=quick)) as api:
        with pytest.raises(ApiUnreachableError):
            await all_lines(api)


async def test_credentials_that_expired_are_read_again(tmp_path: Path) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        fresh = request.headers["Authorization"] == "Bearer fresh"
        return web.Response(status=200 if fresh else 401)

    async with server(answer) as url:
        path = kubeconfig(tmp_path, url, "stale")
        async with connect(Access(kubeconfig=path)) as api:
            kubeconfig(tmp_path, url, "fresh")
            assert (await api.request("GET", PATH)).status == 200


async def test_a_watch_is_opened_again_with_credentials_that_were_read_again(
    tmp_path: Path,
) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        fresh = request.headers["Authorization"] == "Bearer fresh"
        return web.Response(status=200, text="{}\n") if fresh else web.Response(status=401)

    async with server(answer) as url:
        path = kubeconfig(tmp_path, url, "stale")
        async with connect(Access(kubeconfig=path)) as api:
            kubeconfig(tmp_path, url, "fresh")
            assert await all_lines(api) == [b"{}\n"]


async def test_without_any_way_to_a_server_it_says_what_to_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(NotSupportedError, match="give a URL, a kubeconfig"):
        async with connect(Access()):
            pass


@pytest.mark.parametrize(
    "content", [b"", b"\x8e\xff", b"a: [", b"- 1", b"7", b"clusters: 7", b"clusters: [7]"]
)
async def test_a_kubeconfig_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(NotSupportedError, match="give a URL, a kubeconfig"):
        async with connect(Access(kubeconfig=str(path))):
            pass


async def test_a_kubeconfig_that_is_not_there_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "absent")
    with pytest.raises(NotSupportedError, match=re.escape(f"(there is no file {path})")):
        async with connect(Access(kubeconfig=path)):
            pass
    assert capfd.readouterr() == ("", "")
