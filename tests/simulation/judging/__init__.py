"""What must hold of a world, as outsiders see it who share no code with the core."""
