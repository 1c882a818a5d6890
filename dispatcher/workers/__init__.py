"""Worker clusters: how each is reached, what is there, and what is done there."""
