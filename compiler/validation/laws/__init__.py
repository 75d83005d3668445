"""Laws by which values are equal that have other normal forms, each with what it assumes.

exponentials  a product of exponentials is that of a sum
products      products of sums are sums of products
orders        minima and maxima of each other
applied       which of them holds of two values
"""
