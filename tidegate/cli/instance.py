"""The instance that runs here: what ``tidegate up`` notes, so that other commands find it.

One file, ``instance.json``, under ``$TIDEGATE_STATE``, else ``$XDG_STATE_HOME/tidegate``, else
``~/.local/state/tidegate``. It stays when the instance stops: its ledger can still be read.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tidegate.errors import TidegateError
from tidegate.urls import redacted

FILE = "instance.json"


class Instance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The addresses of an instance's parts."""

    ledger: str  # URL
    nats_url: str = ""
    cluster: str = "local"
    kubeconfig: str = ""
    config: str = ""  # path of Kueue's Configuration; empty: the defaults
    pid: int = 0  # of ``tidegate up``
    started_us: int = 0

    def __repr__(self) -> str:
        """Return the note for a traceback: no password is in it."""
        return f"Instance({redacted(self.ledger)}, {redacted(self.nats_url)}, pid={self.pid})"


def state_folder() -> Path:
    """Return the folder that an instance keeps its files in; it may not exist yet."""
    if text := os.environ.get("TIDEGATE_STATE"):
        return Path(text)
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "tidegate"


def read_instance() -> Instance | None:
    """Return the instance of this user, running or not; None if there never was one.

    Raises:
        TidegateError: the file is not ours to understand.
    """
    path = state_folder() / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Instance)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise TidegateError(f"{path} is not a valid instance file: {error}. Remove it.") from error


def write_instance(instance: Instance) -> Path:
    """Note an instance, in place of the one before; return the file."""
    folder = state_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path, new = folder / FILE, folder / f"{FILE}.{os.getpid()}"
    # A URL may hold a password: only its owner may read the file.
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as written:
        written.write(msgspec.json.format(msgspec.json.encode(instance)) + b"\n")
    new.replace(path)  # a reader sees the old one or the new one whole
    return path


def forget_instance() -> None:
    """Remove the note."""
    (state_folder() / FILE).unlink(missing_ok=True)


def is_running(instance: Instance) -> bool:
    """Return whether the process that wrote the note is alive."""
    if instance.pid <= 0:
        return False
    try:
        os.kill(instance.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(instance.pid)


def _is_zombie(pid: int) -> bool:
    # A child that ended and was not waited for still has its pid.
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "Z"
