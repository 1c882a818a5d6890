"""Kinds that are queued through their pods: StatefulSets and LeaderWorkerSets."""
