"""URLs and texts as people may see them: without the passwords and tokens that stand in them."""

from __future__ import annotations

import re

HIDDEN = "***"
_PASSWORD = re.compile(r"(://[^/@:\s,'\"]*:)[^@\s,'\"]+(?=@)")
_TOKEN = re.compile(r"(?i)\b(nats|tls|wss?)(://)[^/@:\s,'\"]+(?=@)")
_PARAMETER = re.compile(r"(?i)(?<=[?&])(password|passwd|token|secret)=[^&\s,'\"]*")


def shown(text: str) -> str:
    """Return a URL, several of them, or a sentence with URLs in it, with every secret hidden.

    A password is what follows the user's colon, or a parameter of that name. With NATS a name
    without a password is a token, and is hidden as well.
    """
    bare = _PASSWORD.sub(rf"\1{HIDDEN}", _PARAMETER.sub(rf"\1={HIDDEN}", text))
    return _TOKEN.sub(rf"\1\2{HIDDEN}", bare)
