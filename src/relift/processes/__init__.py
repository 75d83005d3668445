"""How a process of Relift runs: others beside it, Ctrl-C, and the collector of cycles that rests while it works."""
