"""How a message is addressed and traced on the bus."""
