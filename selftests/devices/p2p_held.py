#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""p2p_held.py PROVIDER DISK...: hold a mapping of peer memory, read into it.

Maps, says "ready", then for each line of standard input that names a disk
reads from it into the peer memory and prints "moved" or the error's name; for
the line "map" maps once more and prints "mapped" or the error's name.
"""

import errno
import mmap
import os
import sys

SIZE = 65536


def name(error):
    return errno.errorcode[error.errno]


def peer(provider):
    fd = os.open(f"/sys/bus/pci/devices/{provider}/p2pmem/allocate", os.O_RDWR)
    try:
        return mmap.mmap(fd, SIZE)
    finally:
        os.close(fd)


def read(disk, memory):
    fd = os.open(disk, os.O_RDONLY | os.O_DIRECT)
    try:
        os.preadv(fd, [memoryview(memory)[:4096]], 0)
    except OSError as error:
        return name(error)
    finally:
        os.close(fd)
    return "moved"


def main():
    provider = sys.argv[1]
    memory = peer(provider)
    print("ready", flush=True)
    for line in sys.stdin:
        word = line.strip()
        if word == "map":
            try:
                peer(provider).close()
                print("mapped", flush=True)
            except OSError as error:
                print(name(error), flush=True)
        else:
            print(read(word, memory), flush=True)


if __name__ == "__main__":
    main()
