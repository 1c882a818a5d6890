"""The local control plane of ``tidegate cluster`` and ``tidegate up``."""
