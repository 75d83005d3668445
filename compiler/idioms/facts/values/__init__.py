"""Values as expressions.

terms         what an expression is
expressions   a value as one, with control flow as selection and loops as folds
endings       how often a loop inside goes on that is not counted
folds         which updates are order-independent
places        which keep the place of the least or greatest cell
"""
