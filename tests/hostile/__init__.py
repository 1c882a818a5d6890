"""Whatever anybody writes: drawn at random, fed to everything that reads it."""
