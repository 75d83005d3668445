"""What differs, and whose fault it is.

judging      a subject on devices; `formulation`: what it is in NumPy, said a second time
containment  a device in a process of its own, which may crash or hang; `child` is that process
shrinking    the smallest subject that still shows a difference
blame        whose fault it is: the interpreter's, a rule's, the compiler's or a device's
"""
