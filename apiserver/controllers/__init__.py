"""The controllers behind the embedded API server: Jobs, scheduler, kubelets, garbage collector.

Each is a function from one object's key to what must be done now and when to look again; nothing
waits and nothing runs by itself. ``running`` calls them.
"""
