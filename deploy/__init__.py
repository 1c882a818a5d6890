"""Manifests and images of Tidegate, as files: the wheel carries them so that it can install them."""
