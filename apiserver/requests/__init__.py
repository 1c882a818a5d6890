"""What a request asks, read: paths, pages, selectors, patches."""
