"""Pictures that prove something: each frame of the harness carries its time, and a secret that a mask must hide.

A JPEG of 8x8 blocks that are one colour each needs the first coefficient alone, so it is made here in a few lines.
"""
import struct
import zlib

COLUMNS, ROWS = 20, 15
# Times are told apart for four hours.
STAMPS = 1 << 24
# In cells: no byte of it may leave the service. As a mask it is MASK, in the pixels of SIZE.
SECRET = (10, 7, 18, 13)
SIZE, MASK = (320, 240), "128x96+160+112"
BLACK, GREY, WHITE, MAGENTA = (32, 128, 128), (96, 128, 128), (224, 128, 128), (105, 212, 235)


def _segment(marker, body):
    return bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body


# Nine sizes of differences with four bits each, and one sign for "the other coefficients are zero": our own Huffman tables.
_TABLES = (_segment(0xDB, b"\0" + b"\x08" * 64)
           + _segment(0xC4, bytes((0, 0, 0, 0, 9)) + bytes(12) + bytes(range(9)))
           + _segment(0xC4, bytes((0x10, 1)) + bytes(15) + b"\0"))
_DIFFERENCES = {}
for _value in range(-255, 256):
    _bits = abs(_value).bit_length()
    _rest = _value if _value >= 0 else _value + (1 << _bits) - 1
    _DIFFERENCES[_value] = format(_bits, "04b") + (format(_rest, f"0{_bits}b") if _bits else "") + "0"


def encoded(columns, rows, colour):
    """A baseline JPEG of blocks; `colour` gives (Y', Cb, Cr) of a block."""
    size = struct.pack(">HH", rows * 8, columns * 8)
    head = (b"\xff\xd8" + _TABLES + _segment(0xC0, b"\x08" + size + b"\3" + bytes((1, 17, 0, 2, 17, 0, 3, 17, 0)))
            + _segment(0xDA, b"\3" + bytes((1, 0, 2, 0, 3, 0, 0, 63, 0))))
    before, bits = (128, 128, 128), []
    for row in range(rows):
        for column in range(columns):
            now = colour(column, row)
            bits.extend(_DIFFERENCES[value - last] for value, last in zip(now, before))
            before = now
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    return head + int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\0") + b"\xff\xd9"


def _code(stamp):
    """Forty bits that hardly come by chance, when another part of a picture is read."""
    return stamp << 16 | zlib.crc32(stamp.to_bytes(3, "big")) & 0xFFFF


def frame(size, stamp):
    """A frame of `size` (multiples of 8) with `stamp`, its lower 24 bits, in its two uppermost rows of cells."""
    columns, rows = size[0] // 8, size[1] // 8
    code = format(_code(stamp % STAMPS), "040b")
    left, top, right, bottom = SECRET

    def colour(column, row):
        # Only blocks that lie wholly within the secret are of its colour: the mask's edge may fall anywhere in others.
        if (left * columns <= column * COLUMNS and (column + 1) * COLUMNS <= right * columns
                and top * rows <= row * ROWS and (row + 1) * ROWS <= bottom * rows):
            return MAGENTA
        x, y = (2 * column + 1) * COLUMNS // (2 * columns), (2 * row + 1) * ROWS // (2 * rows)
        if y < 2:
            return WHITE if code[y * COLUMNS + x] == "1" else BLACK
        return GREY

    return encoded(columns, rows, colour)


def is_whole_jpeg(data):
    """Whether a JPEG has all of its segments, and ends where its last marker does."""
    if data[:2] != b"\xff\xd8" or data[-2:] != b"\xff\xd9":
        return False
    position = 2
    while data[position:position + 1] == b"\xff" and position + 4 <= len(data):
        marker = data[position + 1]
        position += 2 + int.from_bytes(data[position + 2:position + 4], "big")
        if marker == 0xDA:
            # Entropy-coded to the end: a marker within it is none but a restart, or a stuffed zero.
            return all(part[:1] == b"\0" or 0xD0 <= (part[:1] or b"\1")[0] <= 0xD7
                       for part in data[position:-2].split(b"\xff")[1:])
    return False


class PNG:
    """A PNG of eight bits and three or four channels, decoded; ValueError where it is not whole."""

    def __init__(self, data):
        if data[:8] != b"\x89PNG\r\n\x1a\n":
            raise ValueError("no PNG")
        position, packed, ended = 8, [], False
        while position + 12 <= len(data):
            count, kind = struct.unpack(">I4s", data[position:position + 8])
            body = data[position + 8:position + 8 + count]
            if zlib.crc32(kind + body) != int.from_bytes(data[position + 8 + count:position + 12 + count], "big"):
                raise ValueError("a chunk's checksum is wrong")
            if kind == b"IHDR":
                self.width, self.height, depth, colour = struct.unpack(">IIBB", body[:10])
                if depth != 8 or colour not in (2, 6):
                    raise ValueError(f"depth {depth}, colour {colour}")
                self.channels = 3 if colour == 2 else 4
            packed.append(body if kind == b"IDAT" else b"")
            ended = kind == b"IEND"
            position += 12 + count
        if not ended or position != len(data):
            raise ValueError("it does not end with its last chunk")
        self.rows = list(self._unfiltered(zlib.decompress(b"".join(packed))))

    def _unfiltered(self, raw):
        step, length = self.channels, self.width * self.channels
        if len(raw) != self.height * (length + 1):
            raise ValueError("too few samples")
        above = bytearray(length)
        for start in range(0, len(raw), length + 1):
            kind, row = raw[start], bytearray(raw[start + 1:start + 1 + length])
            if kind == 2:
                row = bytearray((a + b) & 255 for a, b in zip(row, above))
            elif kind:
                for i in range(length):
                    left, up = (row[i - step] if i >= step else 0), above[i]
                    corner = above[i - step] if i >= step else 0
                    if kind == 4:
                        guess = left + up - corner
                        row[i] = row[i] + min((left, up, corner), key=lambda value: abs(guess - value)) & 255
                    else:
                        row[i] = row[i] + (left if kind == 1 else (left + up) // 2) & 255
            above = row
            yield row

    def shows_secret(self):
        """Whether anything in it is of the secret's colour, however it was cut, turned or scaled."""
        step = self.channels
        return any(min(r, b) > g + 64 for row in self.rows
                   for r, g, b in zip(row[0::step], row[1::step], row[2::step]))

    def stamp(self):
        """The time that a whole frame carries; None where it can't be read."""
        code = 0
        for y in range(2):
            for x in range(COLUMNS):
                column, row = (2 * x + 1) * self.width // (2 * COLUMNS), (2 * y + 1) * self.height // (2 * ROWS)
                code = code << 1 | (self.rows[row][column * self.channels + 1] > 128)
        return code >> 16 if _code(code >> 16) == code else None
