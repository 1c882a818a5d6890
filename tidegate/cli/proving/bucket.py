"""Checkpoints in an S3 bucket with object lock, which deletes none before its time.

Mode COMPLIANCE binds the bucket's owner as well. A server may take the headers and not lock, so the
retention is read back before a checkpoint counts as kept.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Any
from urllib.parse import urlsplit

from tidegate.cli.proving.checkpoints import CheckpointError
from tidegate.errors import NotSupportedError

SCHEME, MODE = "s3", "COMPLIANCE"
CONNECT_S, TRIES = 10, 3
_SLACK = timedelta(seconds=1)  # servers keep whole seconds


def store_checkpoint(data: bytes, url: str, name: str, retain_us: int) -> str:
    """Store a checkpoint as ``name`` below ``s3://BUCKET/PREFIX``; return its version and its end.

    Region, credentials and another endpoint are those of the AWS tools: their variables and files,
    e.g. AWS_ENDPOINT_URL_S3.

    Raises:
        NotSupportedError: this installation lacks botocore.
    """
    try:
        from botocore.config import Config  # noqa: PLC0415 - an optional extra
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
        from botocore.session import Session  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation writes to no bucket ({error}): pip install 'tidegate[s3]'."
        ) from error
    until = datetime.now(UTC) + timedelta(microseconds=retain_us)
    settings = Config(
        connect_timeout=CONNECT_S,
        read_timeout=CONNECT_S,
        retries={"mode": "standard", "total_max_attempts": TRIES},
    )
    try:
        client = Session().create_client(SCHEME, config=settings)
        version = _put_object(client, data, _object_location(url, name), until)
    except (BotoCoreError, ClientError, ValueError) as error:
        raise CheckpointError(
            f"{url} does not keep the checkpoint, so it is not written either: {error}"
        ) from error
    return f"version {version}, until {until:%Y-%m-%dT%H:%M:%SZ}"


def _object_location(url: str, name: str) -> dict[str, str]:
    parts = urlsplit(url)
    prefix = parts.path.strip("/")
    return {"Bucket": parts.netloc, "Key": f"{prefix}/{name}" if prefix else name}


def _put_object(client: Any, data: bytes, place: dict[str, str], until: datetime) -> str:  # noqa: ANN401 - botocore makes its classes
    digest = b64encode(md5(data, usedforsecurity=False).digest()).decode()
    stored = client.put_object(
        **place,
        Body=data,
        ContentMD5=digest,
        ContentType="application/json",
        ObjectLockMode=MODE,
        ObjectLockRetainUntilDate=until,
    )
    version = stored.get("VersionId", "")
    head = client.head_object(**place, VersionId=version)
    mode, end = head.get("ObjectLockMode", "off"), head.get("ObjectLockRetainUntilDate")
    if mode != MODE or end is None or end < until - _SLACK:
        raise ValueError(f"its object lock is {mode}, until {end}")
    return str(version)
