"""A webhook gets each notice, again and again until it takes it or says that it never will."""

from __future__ import annotations

import pytest
import structlog
from structlog.testing import capture_logs

from tests.notify.conftest import Hook
from tidegate.notify.configuration import Form, Receiver, Rule, When
from tidegate.notify.rules import Notice
from tidegate.notify.webhook import open_webhook

NOTICE = Notice(
    key="local/3/00",
    type="Admitted",
    workload="a/one",
    cluster_queue="team-a",
    seq=3,
    at_us=1_772_348_400_000_000,
    text="a/one: <!channel> & others.",
)
pytestmark = pytest.mark.usefixtures("at_once")


async def send(hook: Hook, form: Form = Form.CLOUD_EVENTS) -> bool:
    receiver = Receiver(name="r", url=hook.url, form=form, rules=(Rule(when=(When.ADMITTED,)),))
    async with open_webhook(receiver, "/tidegate/local", 60.0) as webhook:
        return await webhook.send(NOTICE)


async def test_a_notice_is_a_cloud_event(hook: Hook) -> None:
    assert await send(hook)
    assert hook.bodies == [
        {
            "specversion": "1.0",
            "id": "local/3/00",
            "source": "/tidegate/local",
            "type": "dev.tidegate.notice.Admitted",
            "subject": "a/one",
            "time": "2026-03-01T07:00:00.000000Z",
            "datacontenttype": "application/json",
            "data": {
                "workload": "a/one",
                "clusterQueue": "team-a",
                "seq": 3,
                "text": "a/one: <!channel> & others.",
            },
        }
    ]


async def test_slack_is_sent_a_text_that_mentions_no_user(hook: Hook) -> None:
    assert await send(hook, Form.SLACK)
    assert hook.bodies == [{"text": "a/one: &lt;!channel&gt; &amp; others."}]


async def test_what_is_away_is_asked_again_with_the_same_key(hook: Hook) -> None:
    hook.statuses = [503, 429, 500]
    assert await send(hook)
    assert hook.keys == 4 * [NOTICE.key]
    assert hook.taken == [NOTICE.key]


@pytest.mark.parametrize("status", [302, 400, 404, 410])
async def test_what_refuses_is_not_asked_again(hook: Hook, status: int) -> None:
    hook.statuses = [status]
    assert not await send(hook)
    assert len(hook.keys) == 1


async def test_what_stays_away_is_given_up_and_the_url_is_in_no_log(
    hook: Hook, capfd: pytest.CaptureFixture[str]
) -> None:
    hook.statuses = 5 * [503]
    structlog.reset_defaults()  # another test may have asked for silence
    with capture_logs() as logs:
        assert not await send(hook)
    assert len(hook.keys) == 5
    assert [entry["event"] for entry in logs][-1] == "notice given up"
    assert "secret-path" not in str(logs) + "".join(capfd.readouterr())
