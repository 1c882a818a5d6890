"""An actuator of a member cluster: what it makes of the events of its hub."""
