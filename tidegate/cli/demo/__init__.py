"""What ``tidegate demo`` sets up, runs and shows."""
