"""What the examples of the documentation do."""
