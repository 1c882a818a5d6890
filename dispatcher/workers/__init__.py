"""Worker clusters: their connections, and the copies of workloads and jobs there."""
