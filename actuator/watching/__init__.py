"""Lists and watches of the API server, as the actuator keeps them."""
