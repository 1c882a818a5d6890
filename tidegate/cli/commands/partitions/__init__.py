"""``tidegate partitions``: which partition schedules which cohort trees, and how one moves."""
