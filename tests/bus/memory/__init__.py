"""The bus in one process, with faults by seed: for tests and the simulation."""
