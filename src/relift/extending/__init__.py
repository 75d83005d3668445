"""What a package that adds to Relift imports; `relift.plugins` says how it is found, `examples/plugin` is one.

patterns   a pattern: its signature, meaning and view
idioms     an idiom of C
backends   a back end, one that builds on C with OpenMP among them

Rules are made by `relift.rule`, schedulers by `relift.strategies`, devices are a `relift.DeviceDescription`.
"""
