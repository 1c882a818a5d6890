"""What a reader of observations is handed, held against what the server keeps."""

from __future__ import annotations

from collections.abc import Sequence

from tests.parts.nats.stream import Stream
from tests.simulation.judging.verdict import demand
from tidegate.contracts.entry import Message, Position


def check_reading(stream: Stream | None, after: Position, messages: Sequence[Message]) -> None:
    """Object to what was passed over, and to what lies behind the place that was asked for.

    What the server does not keep any more, or of a stream that is gone, no reader can be told.
    """
    if not messages or stream is None or stream.created_us != messages[-1].at.incarnation:
        return
    known = after.incarnation == stream.created_us
    first, last = after.seq if known else 0, messages[-1].at.seq
    seqs = [message.at.seq for message in messages]
    back = f"observation {seqs[0]} is read behind {first}"
    demand(seqs[0] > first, "past", back)
    missed = [
        record.seq for record in stream.after(first) if record.seq < last and record.seq not in seqs
    ]
    demand(not missed, "loss", f"observations {missed[:3]} are stored, and passed over")
