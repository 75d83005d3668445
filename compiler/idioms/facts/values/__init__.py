"""Values as expressions.

terms         what an expression is
expressions   a value as one, with control flow as selection and loops as folds
operations    what an instruction computes of them; `narrow`: of 8 and 16 bits, `multiples`: as sums of products
endings       how often a loop inside goes on that is not counted
folds         which updates are order-independent
places        which keep the place of the least or greatest cell
"""
