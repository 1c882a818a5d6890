"""Which schema a database has, and how it is brought up to date."""
