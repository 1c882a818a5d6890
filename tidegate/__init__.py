"""Tidegate's library: what the services, the command line and the tests share."""
