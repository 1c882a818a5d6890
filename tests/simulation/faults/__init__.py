"""What goes wrong, when, and how often."""
