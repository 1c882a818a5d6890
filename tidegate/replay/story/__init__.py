"""The story of one workload: its events, a sentence for each, and its waits."""
