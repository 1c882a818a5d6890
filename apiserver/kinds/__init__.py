"""The rules of built-in kinds: what the server fills in, and what it refuses."""
