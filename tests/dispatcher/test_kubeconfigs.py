"""Which kubeconfigs may be used: a refusal for each thing that would lead to this machine.

Source: multikueue.md 1.1.
"""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

import msgspec
import pytest

from dispatcher.manager.credentials import Credentials, KubeconfigReader, Sources, credentials_of
from dispatcher.workers.kubeconfig import Refusal, check_path, read_kubeconfig
from tidegate.jobs.kind import Object

CASES = Path(__file__).parent / "kubeconfigs"


class Case(msgspec.Struct):
    """One kubeconfig, and what is wrong with it; empty: nothing."""

    kubeconfig: str
    error: str = ""
    shows_login: bool = True  # to the server


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_a_kubeconfig_may_say(path: Path) -> None:
    case = msgspec.yaml.decode(path.read_text(), type=Case)
    value = read_kubeconfig(case.kubeconfig.encode())
    if case.error:
        assert value == Refusal(reason="InsecureKubeConfig", error=case.error)
    else:
        assert isinstance(value, dict)
        assert ("very-secret" in str(value)) == case.shows_login


def test_what_aliases_repeat_is_looked_at_once() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 4))
    value = read_kubeconfig(f"a0: &a0 [null]\n{levels}".encode())
    assert isinstance(value, Refusal)


def test_what_aliases_merge_is_bounded() -> None:
    levels = "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40))
    value = read_kubeconfig(f"a0: &a0 {{x: 1}}\n{levels}".encode())
    assert isinstance(value, Refusal)


@pytest.mark.parametrize(
    "text",
    [
        "users:\n- name: u\n  user: {token: *hunter2}\n",
        "users:\n- name: u\n  user: {token: !hunter2 x}\n",
        "users:\n- name: u\n  user: {token: x, x: &hunter2 1, y: &hunter2 2, *hunter2}\n",
        "token: !!python/hunter2 x\n",
        "token: hunter2: x\n",
        "token: !!bool hunter2\n",
        "token: !!timestamp hunter2\n",
        "clusters: hunter2\n",
        "users:\n- name: u\n  user: {username: [hunter2]}\n",
    ],
)
def test_what_cannot_be_read_is_not_quoted(text: str) -> None:
    value = read_kubeconfig(text.encode())
    assert isinstance(value, Refusal)
    assert "hunter2" not in value.error


PREFIX = "/etc/multikueue/kubeconfigs"
UNDER = "kubeconfig path is not under the allowed prefix"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("", "kubeconfig path must not be empty"),
        (f"{PREFIX}/../secret", f'{UNDER}: path contains ".."'),
        ("worker.kubeconfig", f"{UNDER}: path must be absolute"),
        ("/home/worker", f'{UNDER}: "/home/worker" is not under "{PREFIX}"'),
        (f"{PREFIX}-other/worker", f'{UNDER}: "{PREFIX}-other/worker" is not under "{PREFIX}"'),
        (f"{PREFIX}/worker", ""),
        (f"{PREFIX}/link", f'{UNDER}: "{PREFIX}/link" is not under "{PREFIX}"'),
        (f"{PREFIX}/gone", "cannot resolve kubeconfig path symlinks: no gone"),
    ],
)
def test_a_path_stays_in_its_folder(path: str, text: str) -> None:
    def resolved(text: str) -> str:
        if text.endswith("/gone"):
            raise FileNotFoundError("no gone")
        return "/etc/shadow" if text.endswith("/link") else text

    assert check_path(path, PREFIX, resolved) == text


def cluster(**source: Object) -> Object:
    return {"metadata": {"name": "w"}, "spec": {"clusterSource": source}}


@pytest.mark.parametrize(
    ("data", "reason", "error"),
    [
        (None, "BadKubeConfig", 'Secret "s" not found'),
        ({}, "BadKubeConfig", 'key "kubeconfig" not found in secret "s"'),
        ({"kubeconfig": "!"}, "BadKubeConfig", 'key "kubeconfig" of secret "s" is no base64'),
    ],
)
async def test_a_secret_that_says_nothing_is_refused(
    data: Object | None, reason: str, error: str
) -> None:
    secrets = {} if data is None else {"ours/s": {"metadata": {"name": "s"}, "data": data}}
    credentials = await credentials_of(
        cluster(kubeConfig={"location": "s"}),
        Sources(namespace="ours", secrets=secrets),
        KubeconfigReader(),
    )
    assert credentials == Refusal(reason=reason, error=error)


async def test_credentials_are_never_shown() -> None:
    text = msgspec.yaml.decode((CASES / "good.yaml").read_text(), type=Case).kubeconfig
    data = {"kubeconfig": b64encode(text.encode()).decode()}
    secrets: dict[str, Object] = {"ours/s": {"metadata": {"name": "s"}, "data": data}}
    credentials = await credentials_of(
        cluster(kubeConfig={"location": "s"}),
        Sources(namespace="ours", secrets=secrets),
        KubeconfigReader(),
    )
    assert isinstance(credentials, Credentials)
    assert "very-secret" in str(credentials.document)
    assert "very-secret" not in f"{credentials!r} {credentials}"


def test_a_path_that_is_none_is_refused() -> None:
    text = check_path("/\0", "/", lambda text: os.path.realpath(text, strict=True))
    assert text.startswith("cannot resolve kubeconfig path symlinks")
