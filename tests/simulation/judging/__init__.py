"""What must hold of a world, as judges see it that share no code with the core."""
