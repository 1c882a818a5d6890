"""The manager cluster: its definitions, credentials, workloads and jobs."""
