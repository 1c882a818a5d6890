"""``waitForPodsReady``, which v1beta1 has other defaults for than v1beta2."""

from __future__ import annotations

from tidegate.model.policy import PodsReady
from tidegate.model.texts import INT32_MAX
from tidegate.service.config.configuration_file import ConfigurationFile
from tidegate.service.config.durations import default_us, duration_us, optional_us

TIMEOUT, OLDER_TIMEOUT = "30m", "5m"


def is_v1beta1(file: ConfigurationFile) -> bool:
    """Return whether a file is written in the older version."""
    return file.api_version.endswith("v1beta1")


def pods_ready(file: ConfigurationFile) -> PodsReady | None:
    """Return how the pods of started workloads are waited for; None: not at all.

    Raises:
        SettingsError: a duration is none, or negative.
    """
    section = file.wait_for_pods_ready
    older = is_v1beta1(file)
    if file.feature_gates.get("DisableWaitForPodsReady") or (older and not section.enable):
        return None
    again, where = section.requeuing_strategy, "waitForPodsReady."
    blocks = older if section.block_admission is None else section.block_admission
    return PodsReady(
        timeout_us=_timeout_us(section.timeout, older=older),
        recovery_timeout_us=optional_us(section.recovery_timeout, where + "recoveryTimeout"),
        block_admission=blocks,
        requeuing_timestamp=again.timestamp,
        backoff_limit_count=again.backoff_limit_count,
        backoff_base_us=again.backoff_base_seconds * 1_000_000,
        backoff_max_us=(again.backoff_max_seconds or INT32_MAX) * 1_000_000,  # 0: without bound
    )


def _timeout_us(text: str | None, *, older: bool) -> int:
    """Return how long; the older version takes no length for a mistake, the newer for absent."""
    where = "waitForPodsReady.timeout"
    if older:
        return duration_us(OLDER_TIMEOUT if text is None else text, where, least_us=1)
    return default_us("0s" if text is None else text, where, TIMEOUT)
