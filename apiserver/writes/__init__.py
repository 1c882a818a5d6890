"""How a write comes into the state, or is refused."""
