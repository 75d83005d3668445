"""Random programs against devices and against Relift itself, and who is to blame for a difference.

Read in this order:

programs     what is run: programs that a seed names, their arguments, equal programs by rules
coverage     what a program made the compiler do
judgement    what differs on a device or in NumPy, as small as it can be, and whose fault it is
reports      what was found, as a folder that can be sent to a vendor
campaign     many cases, in rounds, resumable, shared out
"""
