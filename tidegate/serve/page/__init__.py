"""The page: files that a browser reads as they are, and nothing from elsewhere."""
