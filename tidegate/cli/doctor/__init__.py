"""What ``tidegate doctor`` and ``tidegate drift`` look at."""
