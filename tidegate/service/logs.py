"""Structured logs on stderr: JSON lines for machines, colours on a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Literal

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from tidegate.urls import redacted


def configure_logs(
    service: str, form: Literal["auto", "json", "console"] = "auto", level: str = "info"
) -> None:
    """Make every ``structlog.get_logger()`` of this process write like this from now on.

    The standard library's loggers, which dependencies use, write warnings in the same form.
    """
    console = form == "console" or (form == "auto" and sys.stderr.isatty())
    least = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=_processors(console=console),
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    logging.basicConfig(level=logging.WARNING, handlers=[_Forwarder()], force=True)


def get_log(name: str) -> FilteringBoundLogger:
    """Return a logger with the name of the service's part."""
    log: FilteringBoundLogger = structlog.get_logger(part=name)
    return log


def log_refusal(text: str) -> None:
    """Log what NATS refuses to this service: rights that lack, or a wrong password."""
    get_log("bus").warning("NATS refuses", why=text)


def _processors(*, console: bool) -> Sequence[Processor]:
    render: Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if console
        else structlog.processors.JSONRenderer()
    )
    first: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # A richer traceback would print the values of variables, and a token is one.
    return [*first, structlog.processors.format_exc_info, _redact_secrets, render]


def _redact_secrets(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Hide what a library's sentence or a traceback may quote of a URL."""
    for name, value in event.items():
        event[name] = redacted(value) if isinstance(value, str) else value
    return event


class _Forwarder(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        log = get_log(record.name)
        log.log(record.levelno, record.getMessage(), exc_info=record.exc_info)
