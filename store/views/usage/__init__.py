"""Reports on quota and its usage over time."""
