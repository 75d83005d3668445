"""What a low-level term may contain, which kernels and work-items it needs, and where its arrays lie.

spec          what a low-level term may contain
stages        which kernels a program needs; `iterations` that change the length are written out before
threads       how many work-items a kernel needs
updates       cells that work-items of a group update at once
distribution  which work-item holds which part of a private array
analyses      what can be switched off, to see what it is worth
"""
