"""One scheduling cycle: nominate heads together, then process them in order, then requeue."""
