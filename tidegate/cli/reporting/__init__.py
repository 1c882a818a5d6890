"""Filter, sum and write a report's rows for ``tidegate report``."""
