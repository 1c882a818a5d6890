"""Settings of a service: one frozen Struct, read from flags, environment and defaults.

Each field is a flag (``--nats-url``) and an environment variable (``TIDEGATE_NATS_URL``); the flag
wins. Its help is the description in the field's annotation, so a setting is declared once.
"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentDefaultsHelpFormatter, ArgumentParser, BooleanOptionalAction
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NoReturn, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Meta, inspect, structs

from tidegate.contracts.subjects import CLUSTER_NAME
from tidegate.errors import NotSupportedError
from tidegate.urls import Secret, redacted

PREFIX = "TIDEGATE_"
_SECRETS = frozenset({"nats_url", "ledger", "api_url", "api_token", "traces"})
"""Settings of all services in which a password or a token may stand."""


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of every service; each adds its own by inheriting."""

    def bus_url(self) -> str:
        """Return the URL of NATS with the password, where that lies in a file of its own.

        Raises:
            NotSupportedError: the file cannot be read.
        """
        scheme, _, rest = self.nats_url.partition("://")
        user, at, place = rest.rpartition("@")
        if not self.nats_password_file or not at or ":" in user:
            return self.nats_url
        try:
            password = Path(self.nats_password_file).read_text().strip()
        except OSError as error:
            raise NotSupportedError(f"The bus's password cannot be read: {error}") from error
        return f"{scheme}://{user}:{quote(password, safe='')}@{place}"

    def __post_init__(self) -> None:
        """Keep what may hold a password or token in a form that nothing prints or encodes."""
        for name in _SECRETS.intersection(self.__struct_fields__):
            structs.force_setattr(self, name, Secret(getattr(self, name)))

    def __repr__(self) -> str:
        """Return the settings for a log or a traceback: no password and no token is among them."""
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        text = ", ".join(f"{name}={value!r}" for name, value in values)
        return f"{type(self).__name__}({text})"

    cluster: Annotated[
        str,
        Meta(
            pattern=CLUSTER_NAME,
            description="the cluster's name in streams, subjects and ledger: a-z, 0-9 and -",
        ),
    ] = "local"
    nats_url: Annotated[
        str,
        Meta(
            description="URLs of the NATS servers, separated by commas; may include a user or token"
        ),
    ] = "nats://127.0.0.1:4222"
    nats_password_file: Annotated[
        str,
        Meta(description="path of a file with the password, if --nats-url has only a user"),
    ] = ""
    nats_credentials: Annotated[str, Meta(description="path of a NATS credentials file")] = ""
    nats_ca: Annotated[
        str, Meta(description="path of the CA of NATS' certificate; default: the system's CAs")
    ] = ""
    replicas: Annotated[
        int, Meta(ge=1, le=5, description="replicas of the streams; 3 or 5 for a NATS cluster")
    ] = 1
    holder_file: Annotated[
        str,
        Meta(
            description=(
                "path of a file on this machine, for this service only: after a "
                "crash the next process on this machine does not wait for the "
                "lease of the dead one"
            )
        ),
    ] = ""
    config: Annotated[str, Meta(description="path of Kueue's Configuration file")] = ""
    health_host: Annotated[
        str, Meta(description="address of /healthz, /readyz and /metrics; 0.0.0.0 in a pod")
    ] = "127.0.0.1"
    health_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="port of /healthz, /readyz and /metrics; 0 uses a free port and logs it",
        ),
    ] = 0
    log_format: Annotated[
        Literal["auto", "json", "console"],
        Meta(description="auto: console on a terminal, else json"),
    ] = "auto"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="minimum level of logged lines"),
    ] = "info"
    traces: Annotated[
        str,
        Meta(
            description="URL of an OTLP/HTTP collector of OpenTelemetry traces, e.g. "
            "http://127.0.0.1:4318; else OTEL_EXPORTER_OTLP_ENDPOINT; none: no traces"
        ),
    ] = ""
    traces_share: Annotated[
        float, Meta(ge=0, le=1, description="fraction of jobs for which traces are sent")
    ] = 1.0
    drain_s: Annotated[
        float, Meta(gt=0, description="seconds in which a stopping service may finish its work")
    ] = 20.0


class KubernetesSettings(ServiceSettings, frozen=True, kw_only=True):
    """The settings of a service that talks to an API server."""

    kubeconfig: Annotated[
        str,
        Meta(
            description="path of a kubeconfig; default: $KUBECONFIG, else the pod's service account"
        ),
    ] = ""
    context: Annotated[
        str, Meta(description="context of the kubeconfig; default: its current context")
    ] = ""
    api_url: Annotated[str, Meta(description="URL of an API server, instead of a kubeconfig")] = ""
    api_token: Annotated[str, Meta(description="bearer token for --api-url")] = ""


Settings = TypeVar("Settings", bound=ServiceSettings)


def read_settings(
    kind: type[Settings], prog: str, about: str, argv: Sequence[str], environ: Mapping[str, str]
) -> Settings:
    """Return the settings; ``argv`` is without the program's name.

    Raises:
        SystemExit: 0 after ``--help``; 2 if a flag or a variable is wrong, which stderr names.
    """
    parser = _Parser(prog=prog, description=about, formatter_class=ArgumentDefaultsHelpFormatter)
    fields = _fields(kind)
    for field in fields:
        _add_flag(parser, field)
    flags = vars(parser.parse_args(argv))
    variables = {field.name: environ.get(_environment_variable(field.name)) for field in fields}
    values = {**{name: text for name, text in variables.items() if text}, **flags}
    for field in fields:
        if isinstance(_plain(field.type), inspect.VarTupleType) and field.name in values:
            values[field.name] = [part for part in str(values[field.name]).split(",") if part]
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        parser.error(str(error).replace("`$.", "`"))


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(redacted(message))  # what is wrong is quoted, and may be a URL


def _fields(kind: type[ServiceSettings]) -> Sequence[inspect.Field]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info.fields


def _environment_variable(name: str) -> str:
    return PREFIX + name.upper()


def _add_flag(parser: ArgumentParser, field: inspect.Field) -> None:
    schema = field.type.extra_json_schema if isinstance(field.type, inspect.Metadata) else None
    description = str((schema or {}).get("description", "")).replace("%", "%%")
    default = _default_text(field.default)
    help_text = f"{description} [{_environment_variable(field.name)}] (default: {default})"
    flag, plain = "--" + field.name.replace("_", "-"), _plain(field.type)
    if isinstance(plain, inspect.BoolType):
        parser.add_argument(flag, default=SUPPRESS, help=help_text, action=BooleanOptionalAction)
        return
    number = isinstance(plain, inspect.IntType | inspect.FloatType)
    shape = "NUMBER" if number else "TEXT"
    if isinstance(plain, inspect.LiteralType):
        shape = "|".join(map(str, plain.values))
    parser.add_argument(flag, default=SUPPRESS, help=help_text, metavar=shape)


def _default_text(default: object) -> str:
    text = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
    return text or "unset"


def _plain(kind: inspect.Type) -> inspect.Type:
    return kind.type if isinstance(kind, inspect.Metadata) else kind
