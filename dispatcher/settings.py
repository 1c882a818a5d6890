"""The settings of the dispatcher, by flag or by environment."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tidegate.kube.credentials import Access
from tidegate.service.settings import KubernetesSettings


class Settings(KubernetesSettings, frozen=True, kw_only=True):
    """Settings of the dispatcher."""

    namespace: Annotated[
        str, Meta(description="namespace of the Secrets with the worker clusters' kubeconfigs")
    ] = "tidegate-system"
    lease_s: Annotated[
        int,
        Meta(
            ge=3,
            description="seconds without a renewal after which another dispatcher takes over",
        ),
    ] = 10

    def access(self) -> Access:
        """Return how to reach the API server of the cluster whose ledger decides."""
        return Access(
            url=self.api_url,
            token=self.api_token,
            kubeconfig=self.kubeconfig,
            context=self.context,
        )
