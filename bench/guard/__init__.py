"""What ``make bench`` measures and compares with the kept table."""
