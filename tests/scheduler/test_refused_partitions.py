"""What only partition 0 can do is refused to a scheduler or an actuator of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from actuator.settings import Settings as ActuatorSettings
from scheduler.settings import Settings, check_partition_policy
from tidegate.errors import NotSupportedError
from tidegate.service.config.configuration import read_configuration
from tidegate.service.settings import ServiceSettings, read_settings

BLOCKS = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwaitForPodsReady: {%s}\n"


@pytest.mark.parametrize(
    ("settings", "words", "text"),
    [
        (Settings, ["--member-clusters", "east"], "partition 0 alone decides for member clusters"),
        (ActuatorSettings, ["--hub", "east"], "partition 0 alone decides for member clusters"),
    ],
)
def test_member_clusters_are_partition_0_s(
    settings: type[ServiceSettings], words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    read_settings(settings, "it", "", words, {})
    with pytest.raises(SystemExit):
        read_settings(settings, "it", "", words, {"TIDEGATE_PARTITION": "2"})
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("number", ["-1", "1000", "one", ""])
@pytest.mark.parametrize(
    "kind", [pytest.param(Settings, id="scheduler"), pytest.param(ActuatorSettings, id="actuator")]
)
def test_a_partition_is_a_number_up_to_999(kind: type[ServiceSettings], number: str) -> None:
    with pytest.raises(SystemExit):
        read_settings(kind, "it", "", ["--partition", number], {})


@pytest.mark.parametrize(("partition", "blocks"), [(0, True), (1, False), (1, True)])
def test_admissions_that_wait_for_all_starts_are_partition_0_s(
    partition: int,
    blocks: bool,  # noqa: FBT001 - a case
    tmp_path: Path,
) -> None:
    file = tmp_path / "configuration.yaml"
    file.write_text(BLOCKS % f"blockAdmission: {str(blocks).lower()}")
    policy = read_configuration(str(file)).policy
    if partition and blocks:
        with pytest.raises(NotSupportedError, match=r"blockAdmission.* partition 1"):
            check_partition_policy(partition, policy)
    else:
        check_partition_policy(partition, policy)
