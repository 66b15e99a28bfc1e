"""Random programs, and the laws that they are held to."""
