"""Random programs against devices and against Relift itself, and who is to blame for a difference.

Read in this order:

cases        what names a program: a kind, a seed, and changes of the choices that the seed made
inputs       the arguments of a program, edges of its types among them
variants     equal programs, by rules that are proved
subjects     a program at sizes, with arguments: what is run; `coverage` is what it made the compiler do
containment  a device in a process of its own, which may crash or hang; `child` is that process
judging      a subject on devices, and what differs
formulation  what a program is in NumPy, said a second time
shrinking    the smallest subject that still shows a difference
blame        whose fault it is: the interpreter's, a rule's, the compiler's or a device's
findings     what was found, by cause; `host` and `report` make a folder of one that can be sent to a vendor
campaign     many cases, in rounds, resumable, shared out
"""
