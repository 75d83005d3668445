"""How a process of Relift runs: others beside it, Ctrl-C, and the collector of cycles that rests while it works.

executors     work shared out to processes, or to a cluster
collecting    the collector of cycles rests
interruption  whether somebody pressed Ctrl-C
"""
