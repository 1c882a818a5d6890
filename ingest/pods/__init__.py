"""Jobs that are made of pods, and what pods refer to."""
