"""What runs behind the embedded API server: Job controller, scheduler, kubelets, collector.

Each is a function from one object's key to what must be done now and when to look again; nothing
waits and nothing runs by itself. ``running`` calls them.
"""
