"""The table of job kinds in docs/kinds.md, from the docstring of each kind's module.

A module's docstring may have lines that begin with the name of a column: ``Podsets:`` and the like,
to the next such line or the end of the paragraph. A missing column has the usual value.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from types import ModuleType

from tidegate.jobs.registry import MODULES
from tidegate.kinds.policies.frameworks import FRAMEWORKS

PAGE = "docs/kinds.md"
BEGIN, END = "<!-- Made by `make generate` from tidegate/jobs. -->\n", "<!-- Until here. -->\n"
_COLUMNS = {
    "Suspended by": "each pod's gate",
    "Podsets": "",
    "Put in": "node labels, tolerations, labels and annotations, in each pod template",
    "Restored": "each pod template",
    "Elastic": "",
    "Partial": "no",
    "Topology": "any pod in any place",
}
"""The value of a column unless the module's docstring gives one."""


def kinds_page(page: str) -> str:
    """Return the page with its table as the modules have it today."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    head = ["kind", *(column[0].lower() + column[1:] for column in _COLUMNS)]
    rows = [head, ["---"] * len(head), *(_row(module) for module in MODULES.values())]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def _row(module: ModuleType) -> list[str]:
    kind, facts = module.KIND, _paragraphs(module)
    fields = {framework.name: f"`{framework.suspend}`" for framework in FRAMEWORKS}
    own = {
        "Suspended by": fields.get(kind.name, _COLUMNS["Suspended by"]),
        "Elastic": "yes" if kind.elastic else "no",
    }
    called = facts.get("Called", f"{kind.kind} {kind.version}")
    columns = [facts.get(column, own.get(column, usual)) for column, usual in _COLUMNS.items()]
    return [f"`{kind.name}` ({called})", *columns]


def _paragraphs(module: ModuleType) -> dict[str, str]:
    """Return the text after each name that begins a line of a module's docstring."""
    names = "|".join((*_COLUMNS, "Called"))
    pairs = re.findall(
        rf"^({names}): (.+?)(?=\n(?:{names}): |\n\n|\Z)",
        cleandoc(module.__doc__ or ""),
        re.MULTILINE | re.DOTALL,
    )
    return {name: " ".join(text.split()).replace("``", "`") for name, text in pairs}
