"""Pod templates: what a start puts into them, and how a stop restores them."""
