"""The life of a workload, rule by rule: what happens, what is decided, what Kubernetes shows."""
