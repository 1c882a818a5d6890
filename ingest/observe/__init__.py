"""Objects of one resource become observations."""
