"""From the decision of a start to the running Job."""
