"""Commands that run Tidegate on this machine."""
