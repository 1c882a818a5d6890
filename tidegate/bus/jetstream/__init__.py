"""The bus over NATS JetStream."""
