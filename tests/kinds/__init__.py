"""The Kubernetes objects: read, translated, served and guarded."""
