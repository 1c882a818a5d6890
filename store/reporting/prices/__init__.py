"""The prices of ResourceFlavors, from which day to which."""
