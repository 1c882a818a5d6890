"""Parses requests: paths, pages, selectors, patches."""
