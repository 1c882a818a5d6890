"""Plain Pods and groups of Pods."""
