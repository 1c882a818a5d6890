"""What policies put into the pod templates of jobs that are queued through their pods."""
