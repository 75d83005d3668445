"""Programs that are called like functions of other libraries.

just_in_time      optimised for the sizes that they meet
torch_operators   operators of PyTorch
"""
