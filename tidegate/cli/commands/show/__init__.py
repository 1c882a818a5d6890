"""``tidegate show``: one file for each thing it shows."""
