"""Which ResourceFlavors the podsets of a workload get, and why not others."""
