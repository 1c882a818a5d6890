"""The reporting tables: what the events say, in rows that a report can sum."""
