# SPDX-License-Identifier: MIT
# Protocol Buffers' wire format, read without any schema: field numbers to lists of values.
import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        else:
            raise ValueError("wire type %d" % (tag & 7))
        found.setdefault(tag >> 3, []).append(value)
    return found


def delimited(data):
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        assert at + size <= len(data)
        yield data[at:at + size]
        at += size
