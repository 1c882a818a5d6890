"""The notifier's file: read, or refused with the place of what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import TidegateError
from tidegate.notify.configuration import read_configuration, url_of

GOOD = """
receivers:
- name: chat
  urlVariable: CHAT_URL
  form: Slack
  rules:
  - when: [Admitted, Preempted]
    namespaces: [team-a]
  - waitingLongerThan: 1h30m
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "notify.yaml"
    path.write_text(text)
    return path


def test_a_file_is_read_and_its_url_comes_from_where_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_URL", "https://chat.example/hook")
    (receiver,) = read_configuration(written(tmp_path, GOOD)).receivers
    assert url_of(receiver) == "https://chat.example/hook"
    (tmp_path / "url").write_text("http://other.example/hook\n")
    text = GOOD.replace("urlVariable: CHAT_URL", f"urlFile: {tmp_path}/url")
    (receiver,) = read_configuration(written(tmp_path, text)).receivers
    assert url_of(receiver) == "http://other.example/hook"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("name: chat", "name: Chat Room", r"receivers\[0\]: name 'Chat Room'"),
        ("form: Slack", "form: Email", r"Invalid enum value 'Email'.*receivers\[0\]\.form"),
        ("form: Slack", "colour: red", r"unknown field `colour`"),
        ("[Admitted, Preempted]", "[Admited]", r"'Admited'.*rules\[0\]\.when"),
        ("1h30m", "soon", r"rules\[1\]\.waitingLongerThan: 'soon'"),
        ("1h30m", "1ms", r"rules\[1\]\.waitingLongerThan: '1ms' is too short"),
        ("waitingLongerThan: 1h30m", "namespaces: [a]", r"rules\[1\]: say when:"),
        ("waitingLongerThan: 1h30m", "budgetAt: [90]", r"rules\[1\]: budgetAt: 90"),
        ("1h30m", "1h\n    budgetAt: [80]\n    namespaces: [a]", "without namespaces"),
        ("urlVariable: CHAT_URL", "url: file:///etc/passwd", "receiver chat: its URL"),
        ("urlVariable: CHAT_URL", "urlFile: /does/not/exist", "urlFile cannot be read"),
        ("urlVariable: CHAT_URL", "urlVariable: NOT_SET", "receiver chat: its URL is empty"),
        ("receivers:", "receivers: [", "expected"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, text: str
) -> None:
    monkeypatch.setenv("CHAT_URL", "https://chat.example/hook")
    with pytest.raises(TidegateError, match=text):
        read_configuration(written(tmp_path, GOOD.replace(old, new)))


def test_nothing_and_doubles_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TidegateError, match="receivers is empty"):
        read_configuration(written(tmp_path, "receivers: []"))
    twice = "receivers:" + 2 * GOOD.partition("receivers:")[2]
    with pytest.raises(TidegateError, match="chat comes twice"):
        read_configuration(written(tmp_path, twice))
    with pytest.raises(TidegateError, match="cannot be read"):
        read_configuration(tmp_path / "nothing.yaml")
