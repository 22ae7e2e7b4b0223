"""What is printed: lines and tables for a terminal."""
