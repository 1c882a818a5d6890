"""From observations to facts: what is news, the fact of each kind, and what time it is."""
