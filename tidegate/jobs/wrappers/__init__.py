"""Kinds that create other objects: AppWrapper and SparkApplication."""
