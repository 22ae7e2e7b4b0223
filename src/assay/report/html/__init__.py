"""The pages: each one HTML file that needs nothing else."""
