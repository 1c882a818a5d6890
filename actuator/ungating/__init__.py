"""Remove the scheduling gates of pods, as far as their Workloads were granted pods."""
