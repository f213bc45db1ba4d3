#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""p2p.py PROVIDER: hold a mapping of PROVIDER's peer memory, and do as told.

Each line of standard input is answered by one of standard output:

  /dev/DISK	write a random block to the disk and read it back into the peer
		memory: "moved", "corrupted", or the name of the error, as the
		P2PDMA core or a policy decides
  map		map peer memory once more: "mapped", or the name of the error
  taken		give up all mappings: how many bytes of what was free before
		this program are not again
"""

import errno
import mmap
import os
import sys

SIZE = 65536
BLOCK = 4096


class Peer:
    def __init__(self, provider):
        self.folder = f"/sys/bus/pci/devices/{provider}/p2pmem"
        self.at_first = self.free()
        self.memory = self.map()

    def map(self):
        fd = os.open(f"{self.folder}/allocate", os.O_RDWR)
        try:
            return mmap.mmap(fd, SIZE)
        finally:
            os.close(fd)

    def free(self):
        with open(f"{self.folder}/available", encoding="ascii") as file:
            return int(file.read())

    def taken(self):
        self.memory.close()
        return self.at_first - self.free()

    def read(self, disk):
        marked = os.urandom(BLOCK)
        plain = os.open(disk, os.O_RDWR | os.O_SYNC)
        os.pwrite(plain, marked, 0)
        # or it would be read from memory, with no device to ask
        os.posix_fadvise(plain, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(plain)
        direct = os.open(disk, os.O_RDONLY | os.O_DIRECT)
        try:
            os.preadv(direct, [memoryview(self.memory)[:BLOCK]], 0)
        finally:
            os.close(direct)
        return "moved" if self.memory[:BLOCK] == marked else "corrupted"

    def do(self, word):
        if word == "taken":
            return self.taken()
        if word == "map":
            self.map().close()
            return "mapped"
        return self.read(word)


def main():
    peer = Peer(sys.argv[1])
    for line in sys.stdin:
        try:
            print(peer.do(line.strip()), flush=True)
        except OSError as error:
            print(errno.errorcode[error.errno], flush=True)


if __name__ == "__main__":
    main()
