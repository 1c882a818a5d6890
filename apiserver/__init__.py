"""A small Kubernetes API server in Python, with just enough of the controllers behind it.

The core (``api``, ``writes``, ``state``) has no socket, no clock and no randomness of its own, so
that a simulation can run it; ``http`` puts it on loopback over HTTP. One contract suite holds it
to the real server. What it lacks it refuses or names in ``limits``.
"""
