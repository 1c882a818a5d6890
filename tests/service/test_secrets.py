"""No secret that a service is given stands in anything that it says when all around it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from actuator.settings import Settings as ActuatorSettings
from dispatcher.settings import Settings as DispatcherSettings
from ingest.settings import Settings as IngestSettings
from scheduler.settings import Settings as SchedulerSettings
from tidegate.bus.jetstream.connection import open_bus
from tidegate.errors import BusUnreachableError
from tidegate.service.settings import ServiceSettings, read_settings

SECRETS = {
    "bus": "only-the-bus-knows",
    "ledger": "only-sql-knows",
    "api": "only-the-api-knows",
    "url": "only-the-url-of-the-api-knows",
}
GIVEN = {
    "TIDEGATE_NATS_URL": f"nats://user:{SECRETS['bus']}@127.0.0.1:1",
    "TIDEGATE_LEDGER": f"postgresql://tidegate:{SECRETS['ledger']}@127.0.0.1:1/x?connect_timeout=2",
    "TIDEGATE_API_URL": f"http://user:{SECRETS['url']}@127.0.0.1:1",
    "TIDEGATE_API_TOKEN": SECRETS["api"],
    "TIDEGATE_DRAIN_S": "1",
}
VALUES = {name.removeprefix("TIDEGATE_").lower(): value for name, value in GIVEN.items()} | {
    "drain_s": 1.0
}
SETTINGS: dict[str, type[ServiceSettings]] = {
    "scheduler": SchedulerSettings,
    "ingest": IngestSettings,
    "actuator": ActuatorSettings,
    "dispatcher": DispatcherSettings,
}
COMMANDS = {
    "scheduler": ["-m", "scheduler"],
    "ingest": ["-m", "ingest"],
    "actuator": ["-m", "actuator"],
    "dispatcher": ["-m", "dispatcher"],
    "migrate": ["-m", "migrations"],
    "doctor": [
        "-m",
        "tidegate.cli.main",
        "doctor",
        "--only",
        "ledger,bus",
        "--bus",
        "",
        "--ledger",
        "",
    ],
    "verify": ["-m", "tidegate.cli.main", "ledger", "verify", "--witness", "", "--ledger", ""],
}


def filled(command: list[str]) -> list[str]:
    given = {"--bus": GIVEN["TIDEGATE_NATS_URL"], "--witness": GIVEN["TIDEGATE_NATS_URL"]}
    given["--ledger"] = GIVEN["TIDEGATE_LEDGER"]
    return [given.get(before, word) for before, word in zip(["", *command], command, strict=False)]


TRIED = [
    *((name, "json") for name in COMMANDS),
    ("scheduler", "console"),  # what writes the logs is one function of all services
]
Tried = dict[tuple[str, str], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """Every process until it gives up, side by side: each waits for half a minute."""
    running = {
        (name, form): subprocess.Popen(
            [sys.executable, *filled(COMMANDS[name])],
            env={
                **os.environ,
                **GIVEN,
                "TIDEGATE_LOG_FORMAT": form,
                "TIDEGATE_LOG_LEVEL": "debug",
                "TIDEGATE_STATE": str(tmp_path_factory.mktemp("state")),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, form in TRIED
    }
    ended: Tried = {}
    for which, process in running.items():
        text, _ = process.communicate(timeout=300)
        ended[which] = subprocess.CompletedProcess(process.args, process.returncode, text)
    return ended


@pytest.mark.parametrize(("name", "log_format"), TRIED)
def test_a_service_that_cannot_reach_anything_says_so_without_a_secret(
    tried: Tried, name: str, log_format: str
) -> None:
    done = tried[name, log_format]
    assert done.returncode != 0
    assert done.stdout.strip()
    assert [which for which, secret in SECRETS.items() if secret in done.stdout] == []


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_as_a_text_hold_no_secret(name: str) -> None:
    fields = SETTINGS[name].__struct_fields__
    mapping = {field: value for field, value in VALUES.items() if field in fields}
    text = repr(msgspec.convert(mapping, SETTINGS[name]))
    assert "cluster='local'" in text
    assert [which for which, secret in SECRETS.items() if secret in text] == []


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_encoded_by_nothing(name: str) -> None:
    settings = SETTINGS[name]()
    for encode in (msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins):
        with pytest.raises(TypeError, match="Secret"):
            encode(settings)


@pytest.mark.parametrize("service", SETTINGS)
def test_a_flag_that_is_wrong_is_quoted_without_a_secret(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = SETTINGS[service]
    with pytest.raises(SystemExit):
        read_settings(kind, service, "", ["--bus", GIVEN["TIDEGATE_NATS_URL"]], {})
    err = capsys.readouterr().err
    assert "nats://user:***@127.0.0.1:1" in err
    assert SECRETS["bus"] not in err


async def test_a_password_in_a_file_is_in_no_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "password"
    file.write_text(f"{SECRETS['bus']}\n")
    fields = {
        "TIDEGATE_NATS_URL": "nats://user@127.0.0.1:1",
        "TIDEGATE_NATS_PASSWORD_FILE": str(file),
    }
    settings = read_settings(IngestSettings, "ingest", "", [], fields)
    assert SECRETS["bus"] in settings.bus_url()
    with pytest.raises(BusUnreachableError) as refused:
        async with open_bus(settings.bus_url(), cluster="local", name="ingest", patience_s=1):
            pass
    text = f"{settings!r}{refused.value}{refused.value.__cause__!r}{capfd.readouterr()}"
    assert "127.0.0.1:1" in text
    assert SECRETS["bus"] not in text
