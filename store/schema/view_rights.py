"""Rights on views in PostgreSQL: a migration recreates views with the rights of before.

A view that runs with the rights of the querying role does so again before any role may read it, so
that a tenant never sees more than its own rows.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, text

from store.views.texts import TEXTS

_FOUND = (
    "SELECT c.relname, c.reloptions, CASE a.grantee WHEN 0 THEN 'PUBLIC'"
    " ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS reader FROM pg_class c"
    " LEFT JOIN LATERAL aclexplode(c.relacl) a"
    " ON a.grantee <> c.relowner AND a.privilege_type = 'SELECT'"
    " WHERE c.relkind = 'v' AND c.relnamespace = current_schema()::regnamespace"
    " AND c.relname IN (SELECT name FROM ledger_view) ORDER BY c.relname, reader"
)


class Rights(NamedTuple):
    """The options of one view, and the roles that may read it."""

    options: tuple[str, ...]  # as PostgreSQL keeps them: "security_invoker=true"
    readers: frozenset[str]  # roles, quoted


def read_view_rights(conn: Connection) -> dict[str, Rights]:
    """Return the rights on each view there is; SQLite has none."""
    if conn.dialect.name != "postgresql":
        return {}
    rights = dict[str, Rights]()
    for name, options, reader in conn.execute(text(_FOUND)):
        right = rights.setdefault(name, Rights(tuple(options or ()), frozenset()))
        if reader is not None:
            rights[name] = right._replace(readers=right.readers | {reader})
    return rights


def restore_rights(conn: Connection, before: dict[str, Rights]) -> None:
    """Grant each view its rights again; a role that could read all views may read new views."""
    readers = [right.readers for right in before.values()]
    every = frozenset[str].intersection(*readers) if readers else frozenset[str]()
    for name in TEXTS:
        rights = before.get(name, Rights((), every))
        if rights.options:
            conn.execute(text(f"ALTER VIEW {name} SET ({', '.join(rights.options)})"))
        for reader in sorted(rights.readers):
            conn.execute(text(f"GRANT SELECT ON {name} TO {reader}"))
