#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""demo-p2p.py PROVIDER DISK: reads from DISK into PROVIDER's peer memory.

First without a policy; then, told so by a line on standard input, again, and
once more with a new mapping of the peer memory. Each prints "moved" or the
name of the error; at the end how many bytes of peer memory are still taken.
"""

import errno
import mmap
import os
import sys

SIZE = 65536


def peer(provider):
    fd = os.open(f"/sys/bus/pci/devices/{provider}/p2pmem/allocate", os.O_RDWR)
    try:
        return mmap.mmap(fd, SIZE)
    finally:
        os.close(fd)


def free(provider):
    path = f"/sys/bus/pci/devices/{provider}/p2pmem/available"
    with open(path, encoding="ascii") as file:
        return int(file.read())


def read(disk, memory, marked):
    memory[:4096] = bytes(4096)
    direct = os.open(disk, os.O_RDONLY | os.O_DIRECT)
    try:
        os.preadv(direct, [memoryview(memory)[:4096]], 0)
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        os.close(direct)
    return "moved" if memory[:4096] == marked else "corrupted"


def main():
    provider, disk = sys.argv[1:]
    marked = os.urandom(4096)
    plain = os.open(disk, os.O_RDWR | os.O_SYNC)
    os.pwrite(plain, marked, 0)
    os.posix_fadvise(plain, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(plain)

    at_first = free(provider)
    memory = peer(provider)
    print(read(disk, memory, marked), flush=True)
    sys.stdin.readline()
    print(read(disk, memory, marked), flush=True)
    try:
        peer(provider).close()
        print("mapped", flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
    memory.close()
    print(at_first - free(provider), flush=True)


if __name__ == "__main__":
    main()
