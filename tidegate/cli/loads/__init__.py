"""Files of jobs: YAML and CSV of our own, and the traces of other systems."""
