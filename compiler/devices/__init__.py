"""OpenCL drivers and devices: found, tested, measured, named.

drivers      where libraries of OpenCL are, and which of them are used
survey       the devices that pass; `naming` is what they are called
self_test    what a device must compute; `trial` runs it, `verdicts` keeps what came of it
calibration  what a CPU does, measured once; `caches`: what holds what it reads
report       what is said of devices
"""
