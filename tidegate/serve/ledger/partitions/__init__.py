"""The partitions of one ledger in one server: each is followed, and positions name them all."""
