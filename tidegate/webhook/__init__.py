"""The admission webhook: the mutating policies for Kubernetes that has no such policies yet."""
