"""A month's statement of a team: what it used and what that costs, closed so that it stays so."""
