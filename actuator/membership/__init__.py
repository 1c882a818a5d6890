"""The actuator of a member cluster: how it reads the events of its hub."""
