"""What shells complete: the table of commands and the answers from it."""
