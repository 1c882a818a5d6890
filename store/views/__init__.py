"""The SQL reports: plain views, one a file, the same on SQLite and PostgreSQL."""
