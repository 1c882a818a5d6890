"""batch/v1 Jobs and JobSets."""
