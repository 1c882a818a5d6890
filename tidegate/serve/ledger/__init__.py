"""The ledger as the server holds it: open readers, the newest state, an index of workloads."""
