"""What is shipped to be deployed: images, manifests, chart, dashboards; and that it works."""
