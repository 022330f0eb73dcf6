"""The model of worker.py as tensors of PyTorch: read from the file WEIGHTS, kept in pinned memory while it sleeps."""
import os

import torch

BLOCK = 1 << 28
SHARDS = os.path.getsize(os.environ["WEIGHTS"]) // BLOCK


class Model:
    def __init__(self, size):
        weights = torch.from_file(os.environ["WEIGHTS"], size=SHARDS * BLOCK, dtype=torch.uint8).view(SHARDS, BLOCK)
        self.blocks = [weights[count % SHARDS].to("cuda") for count in range(size // BLOCK)]
        torch.cuda.synchronize()
        # Allocated at the first sleep or by `pin`, and kept: page-locked memory is slow to get.
        self.copies = []

    def pin(self):
        self.copies = [torch.empty(BLOCK, dtype=torch.uint8, pin_memory=True) for _ in self.blocks]

    def write(self):
        self.blocks[0].fill_(7)
        torch.cuda.synchronize()

    def is_whole(self):
        return all(int(block[0]) == 7 for block in self.blocks)

    def to_host(self):
        if not self.copies:
            self.pin()
        for block, copy in zip(self.blocks, self.copies):
            copy.copy_(block, non_blocking=True)
        torch.cuda.synchronize()
        self.blocks = []
        torch.cuda.empty_cache()

    def to_gpu(self):
        self.blocks = [copy.to("cuda", non_blocking=True) for copy in self.copies]
        torch.cuda.synchronize()
