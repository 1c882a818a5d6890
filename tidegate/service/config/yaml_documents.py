"""YAML that people wrote: its documents, or one sentence that says where it is wrong."""

from __future__ import annotations

from typing import Any

import yaml

from tidegate.errors import SettingsError

VALUES_MAX = 100_000
"""So many values the aliases of a text may repeat."""


class BoundedLoader(yaml.SafeLoader):
    """Reads YAML whose aliases repeat no more than ``VALUES_MAX`` values.

    An alias costs nothing until its value is copied; aliases of aliases multiply.
    """

    def __init__(self, stream: str | bytes) -> None:
        super().__init__(stream)
        self._values, self._repeated = 0, 0
        self._sizes = dict[str, int]()

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node, and count the values in it.

        Raises:
            MarkedYAMLError: an alias stands within its own anchor, or too much is repeated.
        """
        before = self._values
        event = self.peek_event()  # type: ignore[no-untyped-call]  # it has no types
        node = super().compose_node(parent, index)
        self._values += 1
        if isinstance(event, yaml.AliasEvent):
            self._repeat(event)
        elif event.anchor is not None:
            self._sizes[event.anchor] = self._values - before
        return node

    def _repeat(self, alias: yaml.AliasEvent) -> None:
        size = self._sizes.get(str(alias.anchor))
        problem = f"the alias {alias.anchor} stands within its own anchor"
        if size is not None:
            self._values += size
            self._repeated += size
            if self._repeated <= VALUES_MAX:
                return
            problem = f"aliases repeat more than {VALUES_MAX} values"
        mark = alias.start_mark
        raise yaml.MarkedYAMLError(None, None, problem, mark)  # type: ignore[arg-type]  # no C mark


def parse_yaml(text: str | bytes, where: str) -> list[Any]:
    """Return the documents of a YAML text; those with nothing in them are None.

    Raises:
        SettingsError: it is no YAML, or nested too deeply; the message says where and what.
    """
    try:
        return list(yaml.load_all(text, Loader=BoundedLoader))
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark, error.problem or error.context or "it cannot be read"
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise SettingsError(f"{where} is not YAML{place}: {problem}.") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or a number that is none
        raise SettingsError(f"{where} is not YAML: {' '.join(str(error).split())}.") from error
    except (LookupError, AttributeError) as error:  # a tag before a text that is none of its values
        message = f"{where} is not YAML: a tag does not suit its value, as in !!bool 7."
        raise SettingsError(message) from error
    except RecursionError as error:
        message = f"{where} cannot be read: its lists and objects are nested too deeply."
        raise SettingsError(message) from error
