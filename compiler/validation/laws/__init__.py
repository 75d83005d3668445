"""Laws by which values are equal, as normal forms, each with what it assumes.

regrouping    sums and products in any order
without_nan   comparisons, minima and maxima of values of which none is NaN
exponentials  a product of exponentials is that of a sum
products      products of sums are sums of products
orders        minima and maxima of each other
applied       which of them holds of two values
"""
