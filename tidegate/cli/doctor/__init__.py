"""The checks of ``tidegate doctor`` and ``tidegate drift``."""
