"""What is changed for a while, and how it is brought back after any end of the process."""
