"""What is noted of each event as the history is folded, and answers requests without reading it."""
