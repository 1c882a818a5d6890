"""The server: JetStream's requests by subject, what is published to streams, and its mishaps.

It answers at once and in the order of arrival; lateness and losses are the connections'
(``tests.parts.nats.connection``). ``tests/bus`` holds it and a real nats-server to one suite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tests.parts.nats.pulling import Consumer, Deliver
from tests.parts.nats.stream import (
    CONSUMER_NOT_FOUND,
    MESSAGE_NOT_FOUND,
    REFUSED,
    STREAM_NOT_FOUND,
    ApiError,
    Clock,
    Incoming,
    Stream,
)

API = "$JS.API."
_FIXED = ("storage", "retention")  # what an update cannot change
_DEFAULTS = {
    "retention": "limits",
    "storage": "file",
    "discard": "old",
    "max_msgs": -1,
    "max_bytes": -1,
    "max_age": 0,
    "max_msgs_per_subject": -1,
    "num_replicas": 1,
    "duplicate_window": 120_000_000_000,
}

Object = dict[str, Any]
Answer = tuple[bytes, dict[str, str] | None]
"""What is sent back: payload and headers."""
NO_RESPONDERS: Answer = b"", {"Status": "503"}
NOT_NOW: Answer = b'{"error":{"code":503,"err_code":10008,"description":"no leader"}}', None
"""What JetStream answers while it has no leader."""
READ = (f"{API}DIRECT.GET.", f"{API}CONSUMER.MSG.NEXT.")
"""What a server answers from its own data, without the stream's leader."""


class Server:
    """Streams and consumers; it outlives every connection."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.inboxes = 0  # given out so far: no two clients have the same
        self.streams = dict[str, Stream]()
        self.stalled = set[str]()  # names of streams that store nothing and say nothing
        self._consumers = dict[tuple[str, str], Consumer]()
        self._verbs: dict[str, Callable[[list[str], Object, Deliver], Object]] = {
            "STREAM.INFO": lambda words, _, __: self.stream(words[0]).info(),
            "STREAM.CREATE": lambda _, body, __: self._create(body),
            "STREAM.UPDATE": lambda words, body, __: self._update(words[0], body),
            "STREAM.DELETE": lambda words, _, __: self._delete(words[0]),
            "STREAM.PURGE": lambda words, body, __: self._purge(words[0], body),
            "STREAM.MSG.DELETE": lambda words, body, __: self._lose(words[0], body["seq"]),
            "CONSUMER.CREATE": self._make_consumer,
            "CONSUMER.DELETE": lambda words, _, __: self._drop(words[0], words[1]),
        }

    def stream(self, name: str) -> Stream:
        """Return a stream.

        Raises:
            ApiError: there is none.
        """
        if name not in self.streams:
            raise ApiError(STREAM_NOT_FOUND, "stream not found")
        return self.streams[name]

    def take(
        self, subject: str, payload: bytes, headers: Mapping[str, str], deliver: Deliver, reply: str
    ) -> Answer | None:
        """Do what a message asks for and return the answer; None: there is none to it."""
        if not subject.startswith(API):
            return self._publish(Incoming(subject, payload, headers))
        verb = subject.removeprefix(API)
        if verb.startswith("DIRECT.GET."):
            return self._held(verb.removeprefix("DIRECT.GET."), payload)
        if verb.startswith("CONSUMER.MSG.NEXT."):
            self._ask(verb.split(".")[3:], payload, reply, deliver)
            return None
        return _answered(lambda: self._call(verb, payload, deliver))

    def recreate(self, name: str) -> None:
        """Delete a stream and make it anew, as an operator does."""
        config = self.streams[name].config
        self._delete(name)
        self._create(config)

    def restart(self) -> None:
        """Come back after a crash: consumers are gone, streams are not."""
        for consumer in self._consumers.values():
            consumer.end(notify=False)
        self._consumers.clear()
        self.stalled.clear()

    def _call(self, verb: str, payload: bytes, deliver: Deliver) -> Object:
        for name, call in self._verbs.items():
            if verb.startswith(f"{name}."):
                body = msgspec.json.decode(payload or b"{}")
                return call(verb.removeprefix(f"{name}.").split("."), body, deliver)
        raise ApiError(REFUSED, f"nothing is simulated for {verb}")

    def _publish(self, message: Incoming) -> Answer | None:
        stream = next(
            (stream for stream in self.streams.values() if stream.takes(message.subject)), None
        )
        if stream is None:
            return NO_RESPONDERS
        if stream.config["name"] in self.stalled:
            return None
        return _answered(lambda: self._store(stream, message))

    def _store(self, stream: Stream, message: Incoming) -> Object:
        keep = self._keep(stream, message)
        for consumer in list(self._consumers.values()):
            if consumer.stream is stream:
                consumer.go_on()
        return keep

    def _keep(self, stream: Stream, message: Incoming) -> Object:
        return stream.store(message)

    def _held(self, place: str, payload: bytes) -> Answer:
        name, _, subject = place.partition(".")
        stream = self.streams.get(name)
        if stream is None:
            return NO_RESPONDERS
        wanted: Object = {"last_by_subj": subject} if subject else msgspec.json.decode(payload)
        if "seq" in wanted:
            record = next((kept for kept in stream.after(wanted["seq"] - 1)), None)
            record = record if record is not None and record.seq == wanted["seq"] else None
        else:
            record = stream.newest(wanted["last_by_subj"])
        if record is None:
            return b"", {"Status": "404", "Description": "Message Not Found"}
        where = {
            "Nats-Stream": name,
            "Nats-Subject": record.subject,
            "Nats-Sequence": str(record.seq),
        }
        return record.payload, {**record.headers, **where}

    def _create(self, config: Object) -> Object:
        made = Stream(_DEFAULTS | config, self.clock)
        self.streams[str(config["name"])] = made
        return made.info()

    def _update(self, name: str, config: Object) -> Object:
        stream = self.stream(name)
        if any(stream.config[field] != config[field] for field in _FIXED):
            raise ApiError(REFUSED, "stream configuration update can not change storage type")
        stream.config = config
        return stream.info()

    def _delete(self, name: str) -> Object:
        gone = self.stream(name)
        del self.streams[name]
        self.stalled.discard(name)
        for key, consumer in list(self._consumers.items()):
            if consumer.stream is gone:
                consumer.end(notify=True)
                del self._consumers[key]
        return {"success": True}

    def _purge(self, name: str, body: Object) -> Object:
        return {"success": True, "purged": self.stream(name).purge(body.get("seq"))}

    def _lose(self, name: str, seq: int) -> Object:
        if not self.stream(name).delete(seq):
            raise ApiError(MESSAGE_NOT_FOUND, "no message found")
        return {"success": True}

    def _make_consumer(self, words: list[str], body: Object, deliver: Deliver) -> Object:
        stream, name = self.stream(words[0]), words[1]
        self._consumers = {
            k: consumer for k, consumer in self._consumers.items() if not consumer.is_idle()
        }
        self._consumers[words[0], name] = Consumer(name, stream, body["config"], deliver)
        return {"stream_name": words[0], "name": name}

    def _drop(self, stream: str, name: str) -> Object:
        consumer = self._consumers.pop((stream, name), None)
        if consumer is None:
            raise ApiError(CONSUMER_NOT_FOUND, "consumer not found")
        consumer.end(notify=True)
        return {"success": True}

    def _ask(self, words: list[str], payload: bytes, reply: str, deliver: Deliver) -> None:
        consumer = self._consumers.get((words[0], words[1]))
        if consumer is None:
            deliver(reply, reply, b"", {"Status": "503"}, "")
        else:
            consumer.ask(reply, msgspec.json.decode(payload))


def _answered(work: Callable[[], Object]) -> Answer:
    try:
        return msgspec.json.encode(work()), None
    except ApiError as error:
        fields = {"code": 400, "err_code": error.code, "description": error.description}
        return msgspec.json.encode({"error": fields}), None
