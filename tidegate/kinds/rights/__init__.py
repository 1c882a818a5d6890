"""Rights over Kueue's objects and over job kinds, as ClusterRoles."""
