"""The two versions of Kueue's API: their kinds, and how v1beta1 is spelled."""
