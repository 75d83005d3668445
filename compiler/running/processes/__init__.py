"""Processes of their own, so that a driver that crashes or hangs costs one message."""
