"""The kinds of Kueue's API that quota is got through, and what the core computes with of them."""
