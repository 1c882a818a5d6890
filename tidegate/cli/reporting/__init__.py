"""What ``tidegate report`` does with a report's rows: narrow them down, add them up, write them."""
