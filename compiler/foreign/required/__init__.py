"""What is required of the inputs of a kernel: said by programs of the inputs that give truth values.

statements  such programs, what is wrong with one, and the conditions that they make of symbols
facts       what follows from these conditions of a few values: their ends, how far they are apart
drawing     inputs on which all of them hold
lookups     a program that looks up what data choose, where it is required that there is such an element
cases       two values that are equal in each case that numbers, or conditions, make
"""
