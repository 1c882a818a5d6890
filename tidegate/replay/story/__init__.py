"""One workload's life as a story: events, sentences and waits."""
