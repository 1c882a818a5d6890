"""Kueue's API as Structs: v1beta2, v1beta1 and the conversion between them."""
