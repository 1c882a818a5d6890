"""A URL of NATS: its login, as options, and what is refused in it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from ingest.settings import Settings
from tidegate.bus.jetstream.wire.client import Login, split_login
from tidegate.errors import BusUnreachableError

HARD = "a/b+c@d,e#f?g%h:i'j k"


def test_a_password_with_reserved_characters_stands_percent_encoded() -> None:
    servers, login = split_login(f"nats://u:{quote(HARD, safe='')}@a:4222,tls://b")
    assert (servers, login) == (["nats://a:4222", "tls://b"], Login(user="u", password=HARD))


def test_a_password_of_a_file_may_have_any_character(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(HARD + "\n")
    settings = Settings(nats_url="nats://u@a:1", nats_password_file=str(tmp_path / "password"))
    assert split_login(settings.bus_url()) == (["nats://a:1"], Login(user="u", password=HARD))


@pytest.mark.parametrize("secret", ["s3c/s3c", "s3c@s3c", "s3c,s3c", "s3c%s3c", "s3c s3c"])
def test_a_url_that_cannot_be_read_is_refused_without_its_password(secret: str) -> None:
    with pytest.raises(BusUnreachableError, match="%XX") as caught:
        split_login(f"nats://u:{secret}@a:4222")
    assert "s3c" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "nats://a:99999",
        "nats://a:0",
        "nats://[zz]:1",
        "http://a:1",
        "nats://",
        "",
        "a,",
    ],
)
def test_what_is_no_url_of_nats_is_refused_at_once(url: str) -> None:
    with pytest.raises(BusUnreachableError, match="is no URL of NATS: write one such as nats://"):
        split_login(url)


def test_a_url_without_a_scheme_is_one_of_nats() -> None:
    servers, login = split_login("u:p@a:1,b")
    assert servers == ["nats://a:1", "nats://b"]
    assert (login.user, login.password) == ("u", "p")
