"""What is run.

cases      what names a program: a kind, a seed, and changes of the choices that the seed made
inputs     the arguments of a program, edges of its types among them
variants   equal programs, by rules that are proved
subjects   a program at sizes, with arguments
"""
