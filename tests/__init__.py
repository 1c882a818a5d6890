"""Tests, in rooms that mirror the library and the services."""
