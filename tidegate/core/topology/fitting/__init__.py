"""How many pods fit into each domain: requests, free amounts, and the counts."""
