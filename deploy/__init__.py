"""Manifests and images of Tidegate, as files: the wheel carries them, since it installs them."""
