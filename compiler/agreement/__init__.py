"""A kernel's results against the interpreter's, on devices and on the race-checking simulator."""
