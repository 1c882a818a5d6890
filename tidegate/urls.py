"""URLs and texts as people may see them: without the passwords and tokens that stand in them."""

from __future__ import annotations

import re

HIDDEN = "***"
_SCHEME = re.compile(r"\b([a-zA-Z][a-zA-Z+]{0,20})://")
_WITH_TOKENS = frozenset({"nats", "tls", "ws", "wss"})
"""Schemes of which a name without a password is a token."""
_PARAMETER = re.compile(
    r"(?i)(?<![\w.-])(\w{0,40}(?:password|passwd|secret|token)|scram_\w{1,40}_key)="
    r"('[^']*'|[^&\s]*)"
)
_BEARER = re.compile(r"(?i)\b(bearer )(?=\S{0,4096}[\d.])[\w.~+/=-]{8,}")
_JWT = re.compile(r"\beyJ[\w-]{5,2000}\.[\w-]{1,4096}\.[\w-]*")
_SEED = re.compile(r"\bS[OAUCNX][A-Z2-7]{54,}")
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z ]{0,30}(?:PRIVATE KEY|SEED)-{1,9})[^-]*(-{1,9}END [A-Z ]{0,40}-)"
)
_READABLE = re.compile(r"(?:[^\s%]|%[0-9a-fA-F]{2})*")
_PLACE = re.compile(r"(?:\[[^\[\]@\s]*\]|[^\[\]@:\s]*)(?::\d*)?")


class Secret(str):
    """A text that holds a secret: as ``repr`` it is hidden, and no encoder of msgspec takes it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the text with what is secret in it hidden; a URL's rest stays."""
        return repr(redacted_url(self) if "://" in self else HIDDEN[: len(self)])


def redacted(text: str) -> str:
    """Return a URL, several of them, or a sentence with URLs in it, with every secret hidden.

    A password is what follows the user's colon up to the last @, or a parameter of that name. With
    NATS a name without a password is a token, and is hidden as well. So are bearer tokens, JSON web
    tokens, seeds of nkeys and private keys, wherever they stand.
    """
    before, *rest = _SCHEME.split(_PARAMETER.sub(_parameter, text))
    pairs = zip(rest[::2], rest[1::2], strict=True)
    joined = before + "".join(f"{scheme}://{_without_login(scheme, url)}" for scheme, url in pairs)
    joined = _PRIVATE_KEY.sub(rf"\1{HIDDEN}\2", _BEARER.sub(rf"\1{HIDDEN}", joined))
    return _SEED.sub(HIDDEN, _JWT.sub(HIDDEN, joined))


def redacted_url(url: str) -> str:
    """Return a text that is a URL and nothing else, as ``redacted``: a blank does not end it."""
    return redacted(re.sub(r"\s", "%20", url))


def is_readable(url: str) -> bool:
    """Return whether every parser reads a URL alike; else one may quote a part of a password.

    In a user, a password and a parameter the characters ``/ ? # @ [ ] %`` and blanks stand as %XX.
    """
    authority = re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]
    login, _, places = authority.rpartition("@")
    if not _READABLE.fullmatch(url) or set(login) & set("@[]"):
        return False
    return all(_PLACE.fullmatch(place) for place in places.split(","))


def _parameter(match: re.Match[str]) -> str:
    name, value = match.groups()
    ends = "" if value.startswith("'") else value[len(value.rstrip("'\",;.)]")) :]  # a sentence's
    return f"{name}={HIDDEN}{ends}"


def _without_login(scheme: str, text: str) -> str:
    """Hide the login in what stands behind a scheme: up to the last @ before a blank."""
    url = text.split(maxsplit=1)[0] if text[:1].strip() else ""
    login, at, _ = url.rpartition("@")
    name, colon, _ = login.partition(":")
    if not at or not (colon or scheme.lower() in _WITH_TOKENS):
        return text
    return f"{name}:{HIDDEN}{text[len(login) :]}" if colon else HIDDEN + text[len(login) :]
