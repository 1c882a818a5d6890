"""What every port over NATS stands on: the client, its TLS, JetStream's requests, and reading."""
