"""All actors that are no service of ours: people, owners, controllers of checks."""
