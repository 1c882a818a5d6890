"""Jobs that run as copies in another cluster."""
