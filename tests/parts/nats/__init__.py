"""A NATS server in this process: it answers the requests of JetStream that the bus makes."""
