"""Checkpoints in an S3 bucket: locked before they are written, not deleted before their time."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from botocore.exceptions import ClientError
from botocore.session import Session
from moto.server import ThreadedMotoServer

from tests.cli.conftest import Tidegate

BUCKET, RETAIN = "audit", "30d"
Client: TypeAlias = Any  # botocore makes its classes


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    """A client of a server that speaks S3 on loopback, which the commands find as AWS' tools do."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        settings = {
            "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "audit",
            "AWS_SECRET_ACCESS_KEY": "audit",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        yield Session().create_client("s3")
    finally:
        server.stop()


def signed(tidegate: Tidegate, folder: Path, *more: str) -> tuple[int, str, Path]:
    key, file = folder / "audit.key", folder / "kept.json"
    if not key.exists():
        assert tidegate("ledger", "keygen", "--out", str(key)).exit_code == 0
    words = ("ledger", "checkpoint", "--key", str(key), "--out", str(file), *more)
    done = tidegate(*words)
    return done.exit_code, done.stderr, file


def test_a_checkpoint_is_the_bucket_s_object_and_is_not_deleted(
    tidegate: Tidegate, tmp_path: Path, s3: Client
) -> None:
    s3.create_bucket(Bucket=BUCKET, ObjectLockEnabledForBucket=True)
    to = ("--publish", f"s3://{BUCKET}/ledgers/local", "--retain", RETAIN)
    code, text, file = signed(tidegate, tmp_path, *to)
    assert (code, " as version " in text) == (0, True), text
    (version,) = s3.list_object_versions(Bucket=BUCKET)["Versions"]
    assert version["Key"].startswith("ledgers/local/checkpoint-")
    place = {"Bucket": BUCKET, "Key": version["Key"], "VersionId": version["VersionId"]}
    assert s3.get_object(**place)["Body"].read() == file.read_bytes()
    kept = s3.head_object(**place)
    assert kept["ObjectLockMode"] == "COMPLIANCE"
    assert kept["ObjectLockRetainUntilDate"] > datetime.now(UTC) + timedelta(days=29)
    for bypass in ({}, {"BypassGovernanceRetention": True}):
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.delete_object(**place, **bypass)
    s3.delete_object(Bucket=BUCKET, Key=version["Key"])  # hides it, as a new version
    assert s3.get_object(**place)["Body"].read() == file.read_bytes()


def test_what_a_bucket_does_not_lock_is_not_written_either(
    tidegate: Tidegate, tmp_path: Path, s3: Client
) -> None:
    s3.create_bucket(Bucket="plain")
    code, text, file = signed(tidegate, tmp_path, "--publish", "s3://plain", "--retain", RETAIN)
    assert (code, file.exists()) == (1, False)
    assert "s3://plain does not keep the checkpoint, so it is not written either: " in text


@pytest.mark.usefixtures("s3")
def test_a_bucket_that_is_not_there_or_says_no_end_is_refused(
    tidegate: Tidegate, tmp_path: Path
) -> None:
    code, text, file = signed(tidegate, tmp_path, "--publish", "s3://gone", "--retain", RETAIN)
    assert (code, "NoSuchBucket" in text, file.exists()) == (1, True, False)
    code, text, _ = signed(tidegate, tmp_path, "--publish", "s3://gone")
    assert (code, "A bucket needs --retain DURATION" in text) == (2, True)
    code, text, _ = signed(tidegate, tmp_path, "--retain", RETAIN)
    assert (code, "--retain needs --publish s3://" in text) == (2, True)
