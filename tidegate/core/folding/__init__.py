"""How each family of events changes the state."""
