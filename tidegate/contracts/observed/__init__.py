"""What ingest sends of the cluster itself: who it is, and its nodes."""
