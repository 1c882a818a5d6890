"""Shell completion: the table of commands and the answers from it."""
