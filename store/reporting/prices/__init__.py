"""What flavors cost, from which day to which."""
