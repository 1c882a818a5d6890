"""How SQL statements are made and run on both databases."""
