"""What every service does alike: settings, logs, health, signals and waiting between tries."""
