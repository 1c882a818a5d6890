"""Whatever users and clients write: drawn at random, fed to everything that reads it."""
