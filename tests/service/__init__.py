"""What the three services share: settings, configuration, health, signals."""
