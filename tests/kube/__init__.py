"""The client of the API server, against small servers of the tests' own."""
