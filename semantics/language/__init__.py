"""What a user writes, and how Python calls become typed terms.

vocabulary     the names of the language; `functions`: the patterns; `multidimensional`: what is made of them;
               `constants`: arrays of them
programs       a Python function over typed parameters, traced and called
tracing        calls of patterns as typed nodes; `coercion`: what Python writes, as terms
common_subexpressions  names for what Python computes once and a text would repeat
naming         functions and operators of users, told apart; `arguments`: what a user passes; `given`: NumPy values
"""
