"""CEL as the API server evaluates it in a mutating policy: the same texts, the same answers.

Source: Kubernetes, "Mutating Admission Policy" and "Common Expression Language in Kubernetes": the
variables ``object``, ``oldObject``, ``request`` and ``params``, the type ``JSONPatch`` and the
function ``jsonpatch.escapeKey``.
"""

from __future__ import annotations

from typing import Any

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2
from google.protobuf.json_format import MessageToDict

from tidegate.errors import TidegateError

Object = dict[str, Any]
VARIABLES = ("object", "oldObject", "request", "params")
_CONFIGURATION = """
name: mutating-admission-policy
extensions:
- name: optional
- name: strings
- name: lists
- name: two-var-comprehensions
"""
_TEXT = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
_MESSAGE = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE


class ExpressionError(TidegateError):
    """An expression cannot be compiled, or not be evaluated for this request."""


class Expression:
    """One compiled expression."""

    def __init__(self, text: str) -> None:
        """Compile it.

        Raises:
            ExpressionError: it is not CEL, or names what a policy has not.
        """
        try:
            self._compiled = _ENVIRONMENT.compile(text)
        except Exception as error:  # the library has no type of its own
            raise ExpressionError(f"{text}: {error}") from error

    def evaluate(self, variables: Object) -> Any:  # noqa: ANN401 - what CEL has
        """Return its value as JSON has it; a JSONPatch as an object of a JSON patch.

        Raises:
            ExpressionError: it cannot be evaluated, as where a field that it reads is missing.
        """
        try:
            result = self._compiled.eval(data=variables)
        except Exception as error:  # the library has no type of its own
            raise ExpressionError(str(error)) from error
        if result.type() in (cel.Type.ERROR, cel.Type.UNKNOWN):
            raise ExpressionError(str(result.value()))
        return _to_json(result.plain_value())


def _to_json(value: Any) -> Any:  # noqa: ANN401 - what CEL has
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    if hasattr(value, "DESCRIPTOR"):
        return _with_integers(MessageToDict(value))
    return value


def _with_integers(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return JSON without the fractions that a number takes on as a ``google.protobuf.Value``."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: _with_integers(item) for key, item in value.items()}
        case list():
            return [_with_integers(item) for item in value]
        case _:
            return value


def _escaped(key: str) -> str:
    """Return a key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _types() -> descriptor_pool.DescriptorPool:
    """Return the pool with JSONPatch: ``op``, ``path``, ``from`` and ``value``, any JSON."""
    pool = descriptor_pool.DescriptorPool()
    struct = descriptor_pb2.FileDescriptorProto()
    struct_pb2.DESCRIPTOR.CopyToProto(struct)
    pool.Add(struct)
    file = descriptor_pb2.FileDescriptorProto(
        name="jsonpatch.proto", syntax="proto3", dependency=[struct.name]
    )
    patch = file.message_type.add(name="JSONPatch")
    for number, name in enumerate(("op", "path", "from"), start=1):
        patch.field.add(name=name, number=number, type=_TEXT)
    patch.field.add(name="value", number=4, type=_MESSAGE, type_name=".google.protobuf.Value")
    pool.Add(file)
    return pool


_ENVIRONMENT = cel.NewEnv(
    descriptor_pool=_types(),
    config=cel.NewEnvConfigFromYaml(_CONFIGURATION),
    variables=dict.fromkeys(VARIABLES, cel.Type.DYN),
    functions=[
        cel.FunctionDecl(
            "jsonpatch.escapeKey",
            [
                cel.Overload(
                    "jsonpatch_escape_key_string",
                    return_type=cel.Type.STRING,
                    parameters=[cel.Type.STRING],
                    impl=_escaped,
                )
            ],
        )
    ],
)
