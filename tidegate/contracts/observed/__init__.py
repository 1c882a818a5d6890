"""What ingest sends of the cluster itself: its identity and its nodes."""
