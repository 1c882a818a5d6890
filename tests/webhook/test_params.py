"""Parameters are looked up by what tenants write: no name that cannot be one is asked or kept."""

from __future__ import annotations

import pytest

from tests.parts.interposed import Interposed
from tests.parts.stage import Stage
from tests.parts.virtual import run_virtually
from tidegate.kube.ports import Response
from tidegate.webhook.params import FRESH_S, NAME_MAX, Params

LONG = "q" * (NAME_MAX + 1)


class Asked(Interposed):
    """An API server that has nothing; ``requests`` has what it was asked."""

    def __init__(self) -> None:
        super().__init__(Stage().embedded)
        self.before = self._nothing

    async def _nothing(self, _method: str, _path: str) -> Response:
        return Response(404, b"{}")


@pytest.mark.parametrize(("namespace", "name"), [("team", LONG), (LONG, "main")])
def test_what_is_too_long_for_a_name_is_not_asked_for(namespace: str, name: str) -> None:
    async def live() -> None:
        api = Asked()
        params = Params(api, lambda: 0.0)
        param = await params.find("kueue.x-k8s.io/v1beta1", "LocalQueue", namespace, name)
        assert (param, api.requests) == (None, [])

    run_virtually(live())


def test_a_name_is_asked_for_once_in_a_while() -> None:
    async def live() -> None:
        api, now_s = Asked(), [0.0]
        params = Params(api, lambda: now_s[0])
        for at_s in (0.0, FRESH_S / 2, FRESH_S):
            now_s[0] = at_s
            await params.find("kueue.x-k8s.io/v1beta1", "LocalQueue", "team", "q" * NAME_MAX)
        assert len(api.requests) == 2

    run_virtually(live())
