#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""p2p.py PROVIDER DISK: read a block of DISK into PROVIDER's peer memory.

Prints "moved", or the name of the error: which pairs may do so is what the
P2PDMA core decides from the bridges between them.
"""

import errno
import mmap
import os
import sys


def main():
    provider, disk = sys.argv[1:]
    marked = os.urandom(4096)
    plain = os.open(disk, os.O_RDWR | os.O_SYNC)
    os.pwrite(plain, marked, 0)
    os.posix_fadvise(plain, 0, 0, os.POSIX_FADV_DONTNEED)

    memory = mmap.mmap(os.open(f"/sys/bus/pci/devices/{provider}/p2pmem/allocate", os.O_RDWR), 65536)
    try:
        direct = os.open(disk, os.O_RDONLY | os.O_DIRECT)
        os.preadv(direct, [memoryview(memory)[:4096]], 0)
    except OSError as error:
        print(errno.errorcode[error.errno])
        return 0
    print("moved" if memory[:4096] == marked else "corrupted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
