-- The three roles of a ledger in PostgreSQL; run as a superuser, in the database of that ledger.
-- It may be run again, and for several databases of one server. Give each a password with ALTER ROLE … PASSWORD, or a certificate. What they may do to
-- each table is granted by `python -m migrations` whenever the schema changes:
--   tidegate_owner   makes and changes tables: only the init container "migrate" has its password
--   tidegate_writer  the scheduler: appends to history and cannot alter it
--   tidegate_reader  reports: reads tables and views
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['tidegate_owner', 'tidegate_writer', 'tidegate_reader'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', wanted);
    END IF;
  END LOOP;
END
$$;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO tidegate_owner;
GRANT USAGE ON SCHEMA public TO tidegate_writer, tidegate_reader;
ALTER ROLE tidegate_reader SET default_transaction_read_only = on;
-- `tidegate reports verify` compares views with such as it makes for its own session.
DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO tidegate_reader', current_database()); END $$;
-- Where reports are made again beside the services (`tidegate reports rebuild`).
CREATE SCHEMA IF NOT EXISTS tidegate_rebuild AUTHORIZATION tidegate_owner;
