# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An AF_XDP socket that receives: plain system calls, memory and rings.

The kernel is the other side of two rings: it takes frames to fill from one, and
puts what was received into the other.
"""

import ctypes
import mmap
import os
import select
import socket
import struct
import time

from netlab import WAIT_S, sh
from fxtest import Skip

AF_XDP, SOL_XDP = 44, 283
MMAP_OFFSETS, RX_RING, UMEM_REG, UMEM_FILL_RING, UMEM_COMPLETION_RING, STATISTICS = 1, 2, 4, 5, 6, 7
PGOFF_RX_RING, PGOFF_FILL_RING = 0, 0x100000000
BIND_COPY = 1 << 1
FRAME = 2048
FRAMES = 4096
SLOTS = 64	# FX_NIC_SLOTS

libc = ctypes.CDLL(None, use_errno=True)


def checked(rc, what):
    if rc:
        raise OSError(ctypes.get_errno(), what)


class Ring:
    """One ring: numbers of producer and consumer, and entries of SIZE bytes."""

    def __init__(self, fd, offset, offsets, size):
        self.producer, self.consumer, self.entries, _ = offsets
        self.size = size
        self.map = mmap.mmap(fd, self.entries + FRAMES * size, mmap.MAP_SHARED | mmap.MAP_POPULATE, offset=offset)

    def get(self, at):
        return struct.unpack_from("I", self.map, at)[0]

    def put(self, at, value):
        struct.pack_into("I", self.map, at, value & 0xffffffff)

    def at(self, number):
        return self.entries + number % FRAMES * self.size


class Xsk:
    """On receive queue QUEUE of DEVICE; there is one in each namespace that has the device."""

    def __init__(self, device, queue=0):
        try:
            self.socket = socket.socket(AF_XDP, socket.SOCK_RAW, 0)
        except OSError as error:
            raise Skip(f"this kernel makes no AF_XDP sockets: {error}") from error
        fd = self.socket.fileno()
        self.memory = mmap.mmap(-1, FRAMES * FRAME)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.option(UMEM_REG, struct.pack("QQIIII", self.address, FRAMES * FRAME, FRAME, 0, 0, 0))
        for ring in (UMEM_FILL_RING, UMEM_COMPLETION_RING, RX_RING):
            self.option(ring, struct.pack("I", FRAMES))
        offsets = struct.unpack("16Q", self.socket.getsockopt(SOL_XDP, MMAP_OFFSETS, 128))
        self.rx = Ring(fd, PGOFF_RX_RING, offsets[0:4], 16)
        self.fill = Ring(fd, PGOFF_FILL_RING, offsets[8:12], 8)
        for number in range(FRAMES):
            struct.pack_into("Q", self.fill.map, self.fill.at(number), number * FRAME)
        self.fill.put(self.fill.producer, FRAMES)
        address = struct.pack("HHIII", AF_XDP, BIND_COPY, socket.if_nametoindex(device), queue, 0)
        checked(libc.bind(fd, address, len(address)), "bind")

    def option(self, name, value):
        checked(libc.setsockopt(self.socket.fileno(), SOL_XDP, name, value, len(value)), f"socket option {name}")

    def enter(self, pin, slot, queue=0):
        """Put it into the map that is pinned there."""
        fd = self.socket.fileno()
        os.set_inheritable(fd, True)
        words = (f"{byte:#04x}" for number in (queue * SLOTS + slot, fd) for byte in struct.pack("I", number))
        key = [next(words) for _ in range(4)]
        sh("bpftool", "map", "update", "pinned", str(pin), "key", *key, "value", *words, fds=(fd,))

    def receive(self, least=0):
        """At least so many frames, if they come at all, and those that come right after."""
        got = []
        end = time.monotonic() + WAIT_S
        while True:
            if not select.select([self.socket], [], [], 0.3)[0]:
                if len(got) >= least or time.monotonic() > end:
                    return got
                continue
            first, last = self.rx.get(self.rx.consumer), self.rx.get(self.rx.producer)
            for number in range(first, first + ((last - first) & 0xffffffff)):
                at, length, _ = struct.unpack_from("QII", self.rx.map, self.rx.at(number))
                got.append(self.memory[at:at + length])
                # and back to the kernel
                fill = self.fill.get(self.fill.producer)
                struct.pack_into("Q", self.fill.map, self.fill.at(fill), at - at % FRAME)
                self.fill.put(self.fill.producer, fill + 1)
            self.rx.put(self.rx.consumer, last)

    def lost(self):
        """What the kernel dropped for want of frames, or of room in the ring."""
        dropped, _, _, full, empty, _ = struct.unpack("6Q", self.socket.getsockopt(SOL_XDP, STATISTICS, 48))
        return dropped + full + empty

    def close(self):
        # each map of a ring holds the socket open
        self.rx.map.close()
        self.fill.map.close()
        self.socket.close()
