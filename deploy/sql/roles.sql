-- The three roles of a ledger in PostgreSQL; run once, as a superuser, in the database that shall
-- hold it. Give each a password with ALTER ROLE … PASSWORD, or a certificate. What they may do to
-- each table is granted by `python -m migrations` whenever the schema changes:
--   tidegate_owner   makes and changes tables: only the init container "migrate" has its password
--   tidegate_writer  the scheduler: appends to history and cannot alter it
--   tidegate_reader  reports: reads tables and views
CREATE ROLE tidegate_owner LOGIN;
CREATE ROLE tidegate_writer LOGIN;
CREATE ROLE tidegate_reader LOGIN;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO tidegate_owner;
GRANT USAGE ON SCHEMA public TO tidegate_writer, tidegate_reader;
ALTER ROLE tidegate_reader SET default_transaction_read_only = on;
