"""Saturation in a child process that a budget can end, and several searches at once."""
