"""One rule of a turn each file: a draft in, decisions out."""
