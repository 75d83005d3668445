"""CUDA C++, which NVIDIA's compiler NVRTC makes PTX of."""
