"""The rules of built-in kinds: what the server fills in, what it refuses, and what stays as it is."""
