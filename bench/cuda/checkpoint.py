"""`checkpoint.py sleep|wake PID`: takes a process off the GPU, or puts it back, by the driver's own checkpoints.

What NVIDIA's program cuda-checkpoint does; needs a driver from 570 on.
"""
import ctypes
import sys

action, process = sys.argv[1], int(sys.argv[2])
cuda = ctypes.CDLL("libcuda.so.1")


def step(name):
    result = getattr(cuda, name)(process, None)
    if result != 0:
        sys.exit(f"{name} of process {process} failed with {result}")


if cuda.cuInit(0) != 0:
    sys.exit("cuInit failed")
for each in ["Lock", "Checkpoint"] if action == "sleep" else ["Restore", "Unlock"]:
    step(f"cuCheckpointProcess{each}")
