"""The decisions by what they are about."""
