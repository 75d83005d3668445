"""Compiled programs: built, launched, run, timed, kept in folders.

launch       what a program needs besides its source, as data; `launch_form` judges that of a file
arrays       what a program takes and gives: arrays of NumPy, of a device, of other libraries
processes    children in which kernels are built, and programs run, that may crash a driver
session      a program on a device, of whatever back end; `timing` is how long it takes there
compiled     source and launch together; `artefact` is their folder, `displays` how they look
"""
