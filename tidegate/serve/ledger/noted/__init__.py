"""Notes of each event, taken as the history is folded: they answer requests without reading it."""
