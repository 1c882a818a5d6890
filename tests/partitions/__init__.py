"""Several partitions of one cluster on real parts: a scheduler and an actuator each."""
