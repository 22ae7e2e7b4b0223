"""What a terminal shows while work goes on: progress, waiting, builds, the pilot."""
