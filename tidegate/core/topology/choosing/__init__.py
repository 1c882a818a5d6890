"""Which of the domains that fit take the pods, level by level down to the nodes."""
