"""The facts by what they are about."""
