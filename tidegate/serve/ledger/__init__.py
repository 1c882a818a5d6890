"""The ledger as the server holds it: open readers, the newest state, who is named where."""
