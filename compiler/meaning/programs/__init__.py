"""What a program is at an index.

denotation  what each term is, said once more than the interpreter and the views say it
indexing    the arrays that it is over; `carrying` narrows its folds
parts       whether parts that kernels compute are the program
"""
