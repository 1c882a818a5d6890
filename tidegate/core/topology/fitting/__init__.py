"""How many pods each domain could take: what is asked, what is free, and the counts."""
