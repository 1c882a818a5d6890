"""The bus's ports: one contract suite, each implementation a parameter."""
