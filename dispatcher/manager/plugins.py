"""Run the plugins that log in to a worker cluster, and parse their output.

The client library's own runner tells a plugin nothing of the cluster, waits for it without end and
hands it this process's whole environment, the password of the bus among it.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/, client-go
credential plugins.
"""

from __future__ import annotations

import asyncio
import os
from base64 import b64encode
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import IO, Any

import msgspec

from tidegate.errors import ApiUnreachableError
from tidegate.service.config.access_providers import ExecConfig
from tidegate.service.settings import PREFIX

PLUGIN_S, PRINTED_MAX = 30.0, 2**20
"""How long a plugin may take, and how many bytes it may print."""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin, and the cluster information that it receives; None: none."""

    config: ExecConfig
    cluster: dict[str, Any] | None = None


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""  # PEM
    client_key_data: str = ""


class _Credential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    status: _Status


async def log_in(plugin: Plugin) -> dict[str, str]:
    """Return the user of a kubeconfig with which a plugin logs in.

    Raises:
        ApiUnreachableError: the plugin gives no credentials. Nothing that it printed is in the
            message: that may be a secret.
    """
    command = plugin.config.command
    try:
        printed = await _run(plugin)
        credential = msgspec.json.decode(printed, type=_Credential)
    except TimeoutError as error:
        raise _login_error(command, f"took longer than {PLUGIN_S:g} s") from error
    except OSError as error:
        reason = (error.strerror or "cannot be run").lower()
        raise _login_error(command, f"{reason} {plugin.config.install_hint}".strip()) from error
    except (ValueError, msgspec.DecodeError):
        raise _login_error(command, "printed no ExecCredential") from None
    if credential.api_version != plugin.config.api_version:
        raise _login_error(command, f"printed another version than {plugin.config.api_version}")
    status = credential.status
    if status.token:
        return {"token": status.token}
    if status.client_certificate_data and status.client_key_data:
        return {
            "client-certificate-data": b64encode(status.client_certificate_data.encode()).decode(),
            "client-key-data": b64encode(status.client_key_data.encode()).decode(),
        }
    raise _login_error(command, "printed neither a token nor a certificate with its key")


async def _run(plugin: Plugin) -> bytes:
    """Return what a plugin prints, in bounds."""
    with _open_pipe() as (printed, stdout):
        with stdout:
            process = await asyncio.create_subprocess_exec(
                plugin.config.command,
                *plugin.config.args,
                env=_environment(plugin),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stdout,
                stderr=asyncio.subprocess.DEVNULL,
            )
        try:
            async with asyncio.timeout(PLUGIN_S):
                content = await _read_output(printed)
                code = await process.wait()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if code:
        raise _login_error(plugin.config.command, f"failed with exit code {code}")
    return content


@contextmanager
def _open_pipe() -> Generator[tuple[IO[bytes], IO[bytes]]]:
    """Open our own pipe, so that only the plugin is waited for, not processes that it leaves.

    With a pipe of its own asyncio would wait until no other process has that open.
    """
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as reader, os.fdopen(write_end, "wb") as writer:
        yield reader, writer


async def _read_output(pipe: IO[bytes]) -> bytes:
    reader, printed = asyncio.StreamReader(), bytearray()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        while part := await reader.read(PRINTED_MAX):
            printed += part
            if len(printed) > PRINTED_MAX:
                raise ValueError(f"more than {PRINTED_MAX} bytes")
    finally:
        transport.close()
    return bytes(printed)


def _environment(plugin: Plugin) -> dict[str, str]:
    """Return this process's environment without Tidegate's settings: passwords are among them."""
    spec = {"interactive": False} | ({} if plugin.cluster is None else {"cluster": plugin.cluster})
    info = {"apiVersion": plugin.config.api_version, "kind": "ExecCredential", "spec": spec}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    own = {variable.name: variable.value for variable in plugin.config.env}
    return inherited | own | {"KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def _login_error(command: str, why: str) -> ApiUnreachableError:
    return ApiUnreachableError(f"getting credentials: exec: executable {command} {why}")
