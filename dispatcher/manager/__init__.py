"""The cluster whose ledger decides: its definitions, credentials, workloads and jobs."""
