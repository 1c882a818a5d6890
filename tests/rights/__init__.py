"""What each service's account may do on a real API server: all that it needs, and no more."""
