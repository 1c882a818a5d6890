"""Jobs that run as copies in another cluster: what crosses between both, all pure."""
