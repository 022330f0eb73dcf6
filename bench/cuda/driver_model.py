"""The model of worker.py with nothing but the driver, copied from memory of the machine."""
import ctypes

BLOCK = 1 << 28
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
cuda.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
cuda.cuMemsetD8_v2.argtypes = [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t]
cuda.cuMemFree_v2.argtypes = [ctypes.c_uint64]
cuda.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]


def checked(result, what):
    if result != 0:
        raise RuntimeError(f"{what} failed with {result}")


def copied(source):
    block = ctypes.c_uint64()
    checked(cuda.cuMemAlloc_v2(ctypes.byref(block), BLOCK), "cuMemAlloc")
    checked(cuda.cuMemcpyHtoD_v2(block, source, BLOCK), "cuMemcpyHtoD")
    return block


class Model:
    def __init__(self, size):
        checked(cuda.cuInit(0), "cuInit")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        checked(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
        checked(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
        checked(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
        weights = (ctypes.c_ubyte * BLOCK)()
        ctypes.memset(weights, 7, BLOCK)
        self.blocks = [copied(weights) for _ in range(size // BLOCK)]
        self.copies = []

    def write(self):
        checked(cuda.cuMemsetD8_v2(self.blocks[0], 7, BLOCK), "cuMemsetD8")

    def is_whole(self):
        byte = (ctypes.c_ubyte * 1)()
        for block in self.blocks:
            checked(cuda.cuMemcpyDtoH_v2(byte, block, 1), "cuMemcpyDtoH")
            if byte[0] != 7:
                return False
        return True

    def to_host(self):
        for block in self.blocks:
            copy = (ctypes.c_ubyte * BLOCK)()
            checked(cuda.cuMemcpyDtoH_v2(copy, block, BLOCK), "cuMemcpyDtoH")
            checked(cuda.cuMemFree_v2(block), "cuMemFree")
            self.copies.append(copy)
        self.blocks = []

    def to_gpu(self):
        self.blocks = [copied(copy) for copy in self.copies]
        self.copies = []
