"""Which workload each ClusterQueue offers, in what order, and whether it may be admitted at all."""
