"""What was found, to be sent to whoever mends it.

findings   what was found, by cause
report     one of them as a folder; `host` is the script in it that runs its kernels
"""
