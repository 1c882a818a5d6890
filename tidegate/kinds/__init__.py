"""The Kubernetes objects that Tidegate reads and serves, as Structs."""
