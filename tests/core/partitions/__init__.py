"""Several partitions of one cluster, against one that decides about everything."""
