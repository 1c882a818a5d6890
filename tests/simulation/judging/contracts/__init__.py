"""What each process owes at its ports, held against what the other side truly has."""
