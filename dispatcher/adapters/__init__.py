"""How each kind of job is copied to a worker cluster: pure."""
