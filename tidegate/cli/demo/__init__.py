"""``tidegate demo``: set up a cluster, run jobs and show them."""
