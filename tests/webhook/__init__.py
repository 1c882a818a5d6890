"""The admission webhook: its expressions, its answers, its certificate, and jobs that it held."""
