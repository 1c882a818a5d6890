"""RayCluster, RayJob and RayService."""
