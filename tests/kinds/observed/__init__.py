"""What Kueue's own code answered of each kind of job, put to Tidegate's modules."""
