"""What holds for the code base as a whole."""
