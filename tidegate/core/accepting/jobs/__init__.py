"""What an observed job changes: submitted, changed, adopted, finished."""
