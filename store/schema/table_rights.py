"""Rights on a table in PostgreSQL, as statements that give them again to another of its name.

Roles' rights on it and on its columns, and the policies by which a tenant sees its own rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, text

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
