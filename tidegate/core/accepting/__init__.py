"""From observations to facts: what is news, how each kind is told, and what time it is."""
