"""Rights in PostgreSQL: a migration recreates views and tables with the rights of before.

A view that runs with the rights of the querying role does so again before any role may read it, so
that a tenant never sees more than its own rows.
"""

from __future__ import annotations

from collections.abc import Iterator
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

_GRANTS = (
    "SELECT quote_ident(pg_get_userbyid(a.grantee)) AS role, a.privilege_type AS what, '' AS part"
    " FROM pg_class c, aclexplode(c.relacl) a"
    " WHERE c.oid = to_regclass(:name) AND a.grantee NOT IN (0, c.relowner)"
    " UNION ALL SELECT quote_ident(pg_get_userbyid(a.grantee)), a.privilege_type,"
    " quote_ident(t.attname) FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid,"
    " aclexplode(t.attacl) a WHERE c.oid = to_regclass(:name) AND a.grantee NOT IN (0, c.relowner)"
)
_POLICIES = (
    "SELECT quote_ident(p.polname) AS name, p.polpermissive AS permissive, p.polcmd AS command,"
    " CASE WHEN p.polroles = '{0}' THEN 'PUBLIC' ELSE (SELECT string_agg(quote_ident("
    "pg_get_userbyid(r)), ', ') FROM unnest(p.polroles) r) END AS roles,"
    " pg_get_expr(p.polqual, p.polrelid) AS seen,"
    " pg_get_expr(p.polwithcheck, p.polrelid) AS written"
    " FROM pg_policy p WHERE p.polrelid = to_regclass(:name) ORDER BY p.polname"
)
_SECURITY = (
    "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = to_regclass(:name)"
)
_COMMANDS = {"r": "SELECT", "a": "INSERT", "w": "UPDATE", "d": "DELETE", "*": "ALL"}


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


def grant_statements(conn: Connection, table: str) -> Iterator[str]:
    """Yield the statements that grant the rights on a table to a new table of the same name."""
    for grant in conn.execute(text(_GRANTS), {"name": table}).all():
        privilege = f"{grant.what} ({grant.part})" if grant.part else grant.what
        yield f"GRANT {privilege} ON {table} TO {grant.role}"
    for policy in conn.execute(text(_POLICIES), {"name": table}).all():
        kind = "PERMISSIVE" if policy.permissive else "RESTRICTIVE"
        head = f"CREATE POLICY {policy.name} ON {table} AS {kind}"
        using = f" USING ({policy.seen})" if policy.seen else ""
        written = f" WITH CHECK ({policy.written})" if policy.written else ""
        yield f"{head} FOR {_COMMANDS[policy.command]} TO {policy.roles}{using}{written}"
    enabled, forced = conn.execute(text(_SECURITY), {"name": table}).one()
    if enabled:
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
    if forced:
        yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
