"""Real parts that tests start: a database server and its like."""
