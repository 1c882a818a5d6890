"""YAML that people wrote: its documents, or one sentence that says where it is wrong."""

from __future__ import annotations

from typing import Any

import yaml

from tidegate.errors import SettingsError

WRONG_TAG = (LookupError, AttributeError)
"""What PyYAML raises where a tag stands before a text that is none of its values."""
WRONG_TAG_TEXT = "a tag does not suit its value, as in !!bool 7"


def parse_yaml(text: str | bytes, where: str) -> list[Any]:
    """Return the documents of a YAML text; those with nothing in them are None.

    Raises:
        SettingsError: it is no YAML, or nested too deeply; the message says where and what.
    """
    try:
        return list(yaml.safe_load_all(text))
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark, error.problem or error.context or "it cannot be read"
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise SettingsError(f"{where} is not YAML{place}: {problem}.") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or a number that is none
        raise SettingsError(f"{where} is not YAML: {' '.join(str(error).split())}.") from error
    except WRONG_TAG as error:
        raise SettingsError(f"{where} is not YAML: {WRONG_TAG_TEXT}.") from error
    except RecursionError as error:
        message = f"{where} cannot be read: its lists and objects are nested too deeply."
        raise SettingsError(message) from error
