"""A caller's identity, as the API server says it: remembered for seconds, and never guessed."""

from __future__ import annotations

import pytest

from tests.serve.people import ReviewingApi
from tidegate.serve.auth.limits import BURST_S, RateLimiter
from tidegate.serve.auth.proxies import FrontProxy
from tidegate.serve.auth.reviews import REMEMBERED_S, AccessReviewer, Right, User
from tidegate.serve.refusals import RefusalError

LIST = Right(verb="list", resource="workloads", namespace="a")
PROXY = FrontProxy(authority="", names=("front",))
SAYS = [("x-remote-user", "ann"), ("x-remote-group", "people"), ("x-remote-extra-a%2fb", "c")]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


async def test_a_right_that_is_taken_away_is_gone_after_seconds() -> None:
    api, clock = ReviewingApi(), Clock()
    reviews = AccessReviewer(api, now_s=clock)
    ann = await reviews.authenticate_token("ann")
    assert ann == User(name="ann", groups=("people",))
    assert ann is not None
    assert await reviews.is_allowed(ann, LIST)
    api.rights["ann"] = set()
    clock.now_s = REMEMBERED_S - 0.1
    assert await reviews.is_allowed(ann, LIST)
    clock.now_s = REMEMBERED_S
    assert not await reviews.is_allowed(ann, LIST)
    assert api.asked == {"tokenreviews": 1, "subjectaccessreviews": 2}


async def test_a_token_that_is_taken_back_is_gone_after_seconds() -> None:
    api, clock = ReviewingApi(), Clock()
    reviews = AccessReviewer(api, now_s=clock)
    assert await reviews.authenticate_token("new") is None
    api.rights["new"] = set()
    assert await reviews.authenticate_token("new") is None
    clock.now_s = REMEMBERED_S
    assert await reviews.authenticate_token("new") is not None


async def test_what_one_may_is_not_what_another_of_the_name_may() -> None:
    api = ReviewingApi()
    reviews = AccessReviewer(api)
    assert await reviews.is_allowed(User(name="ann"), LIST)
    api.rights["ann"] = set()
    assert not await reviews.is_allowed(User(name="ann", groups=("people",)), LIST)


@pytest.mark.parametrize(
    ("peer", "headers", "who"),
    [
        ("front", SAYS, "ann"),
        (None, SAYS, ""),  # without a certificate any client could say so
        ("other", SAYS, ""),
        ("front", SAYS[1:], ""),
        ("front", [*SAYS, ("x-remote-user", "root")], ""),
        ("front", [("x-remote-user", "")], ""),
    ],
)
def test_headers_count_from_the_api_server_alone(
    peer: str | None, headers: list[tuple[str, str]], who: str
) -> None:
    person = PROXY.user_of(peer, headers)
    assert ("" if person is None else person.name) == who
    if person is not None:
        assert person.extra == {"a/b": ("c",)}
        assert not person.local


def test_a_user_that_asks_too_often_waits_and_no_other_does() -> None:
    clock = Clock()
    pace = RateLimiter(2, clock)
    for _ in range(2 * BURST_S):
        pace.acquire("ann")
    with pytest.raises(RefusalError) as caught:
        pace.acquire("ann")
    assert caught.value.status == 429
    pace.acquire("bob")
    clock.now_s += 0.5
    pace.acquire("ann")
