"""``tidegate partitions``: who decides about which trees, and how a tree moves."""
