"""``tidegate clusters``: worker clusters of MultiKueue."""
