"""The ports between the services and the world, over NATS JetStream and in memory."""
