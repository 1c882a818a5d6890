"""Member clusters: their names, how each is heard, and which flavors exist in which."""
