"""One module a kind of decision: how its cases are put to the core and compared."""
