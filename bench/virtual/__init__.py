"""The core in virtual time: loads, a cluster around it, and what steps and memory cost."""
