"""A setting is declared once and read from a flag, else the environment, else its default."""

from __future__ import annotations

from random import Random
from typing import Annotated

import pytest
from msgspec import Meta

from tidegate.service.backoff import backoff_delays
from tidegate.service.settings import ServiceSettings, read_settings


class Settings(ServiceSettings, frozen=True, kw_only=True):
    """What this test's service can be told."""

    kinds: Annotated[tuple[str, ...], Meta(description="which kinds, 100% of them")] = ("job",)
    dry: Annotated[bool, Meta(description="change nothing")] = False


def read(*argv: str, **environ: str) -> Settings:
    return read_settings(Settings, "python -m test", "Tests.", argv, environ)


def test_defaults_hold_where_nothing_is_set() -> None:
    assert read() == Settings()
    assert read(TIDEGATE_CLUSTER="") == Settings()


def test_a_flag_wins_over_the_environment() -> None:
    settings = read("--cluster", "here", TIDEGATE_CLUSTER="there", TIDEGATE_HEALTH_PORT="81")
    assert (settings.cluster, settings.health_port) == ("here", 81)


def test_texts_become_what_the_field_is() -> None:
    settings = read("--dry", "--drain-s", "1.5", TIDEGATE_KINDS="a,b")
    assert (settings.dry, settings.drain_s, settings.kinds) == (True, 1.5, ("a", "b"))
    assert read("--no-dry", TIDEGATE_DRY="true").dry is False
    assert read(TIDEGATE_DRY="true").dry is True


@pytest.mark.parametrize(
    ("argv", "environ", "text"),
    [
        (["--health-port", "99999"], {}, "health_port"),
        ([], {"TIDEGATE_DRY": "hm"}, "dry"),
        (["--log-level", "loud"], {}, "log_level"),
        (["--unknown"], {}, "--unknown"),
    ],
)
def test_what_is_wrong_is_named_and_ends_with_two(
    argv: list[str], environ: dict[str, str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        read(*argv, **environ)
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


def test_help_names_flag_variable_meaning_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        read("--help")
    assert caught.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--kinds TEXT which kinds, 100% of them [TIDEGATE_KINDS] (default: job)" in text


def test_waits_grow_to_their_bound_and_never_vanish() -> None:
    waits = backoff_delays(Random(1), first_s=0.1, most_s=1.0)
    values = [next(waits) for _ in range(20)]
    assert all(0.5 <= wait / min(0.1 * 2**turn, 1.0) <= 1 for turn, wait in enumerate(values))
