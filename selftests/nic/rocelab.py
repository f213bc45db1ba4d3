# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packets of RoCEv2, as a queue pair would send them."""

import struct

from netlab import ETH_P_IP, ETH_P_IPV6, ethernet, ipv4, ipv6, udp

RC, UC, RD, UD, CNP, XRC = range(6)
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
(WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST, READ_FIRST,
 READ_MIDDLE, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK, COMPARE_SWAP, FETCH_ADD) = range(6, 21)
SEND_LAST_INVALIDATE, SEND_ONLY_INVALIDATE = 0x16, 0x17
PORT = 4791
PSNS = 1 << 24


def reth(length, addr=0x1000, rkey=0x77):
    return struct.pack("!QII", addr, rkey, length)


def roce(op, qp, psn=0, payload=b"", head=b"", transport=RC, pad=None, version=0):
    """From BTH to ICRC. HEAD is what stands between."""
    pad = -len(payload) % 4 if pad is None else pad
    return (struct.pack("!BBHII", transport << 5 | op, pad << 4 | version, 0xffff, qp, psn % PSNS) + head + payload +
            bytes(pad) + b"icrc")


def over(data, vlan=None, six=False, sport=49152, **ip):
    """An Ethernet frame with this RoCE packet."""
    inner = udp(sport, PORT, data)
    if six:
        return ethernet(ETH_P_IPV6, ipv6(17, inner, **ip), vlan)
    return ethernet(ETH_P_IP, ipv4(17, inner, **ip), vlan)


def packet(*args, vlan=None, six=False, src=None, **keys):
    where = {} if src is None else {"src": src}
    return over(roce(*args, **keys), vlan, six, **where)


def write(qp, psn, size, mtu=1024, addr=0x10000, rkey=0x77, imm=False, **keys):
    """The frames of an RDMA WRITE of SIZE bytes."""
    count = max(1, -(-size // mtu))
    frames = []
    for i in range(count):
        data = bytes((psn + i & 0xff,)) * min(mtu, size - i * mtu)
        first, last = i == 0, i == count - 1
        op = WRITE_ONLY if first and last else WRITE_FIRST if first else WRITE_LAST if last else WRITE_MIDDLE
        head = reth(size, addr, rkey) if first else b""
        if imm and last:
            op += 1
            head += b"immd"
        frames.append(packet(op, qp, psn + i, data, head, **keys))
    return frames
