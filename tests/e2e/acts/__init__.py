"""The kinds that can wait in a queue, one a module, each with its ``ACTS``."""
