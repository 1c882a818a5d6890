"""What each kind of job needs to go to another cluster: pure."""
