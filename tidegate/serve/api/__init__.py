"""The read API: a table of endpoints, what each answers, and how a request is handled."""
