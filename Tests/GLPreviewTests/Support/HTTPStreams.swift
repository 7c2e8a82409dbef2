// Streams as servers send them, for the tests of what reads them.
import Testing

@testable import GLPreview

/// A JPEG as far as its markers go: with an EOI in a thumbnail, restart markers and stuffed bytes. Decodes to nothing.
func markersOnly(_ number: UInt8, scan: Int = 4) -> [UInt8] {
  let thumbnail: [UInt8] = [0xFF, 0xD8, 0xFF, 0xD9]
  let start: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE1, 0, 8] + thumbnail + [number, 0]
  var data: [UInt8] = []
  for index in 0..<scan { data += [UInt8(index & 0x7F), 0xFF, 0x00, 0x0D, 0x0A, 0x2D, 0x2D] }
  return start + [0xFF, 0xDA, 0, 4, 1, number] + data + [0xFF, 0xD0, number, 0xFF, 0xD9]
}

/// A PNG as far as its chunks go, with the ends of JPEGs and of PNGs in its data. Decodes to nothing.
func chunksOnly(_ number: UInt8) -> [UInt8] {
  let end = TestPNG.chunk("IEND", [])
  return TestPNG.signature + TestPNG.chunk("IDAT", [number, 0xFF, 0xD8, 0xFF, 0xD9] + end) + end
}

/// How a server writes its stream, and what is to be read out of it.
struct ServedStream: Sendable, CustomTestStringConvertible {
  let manner: String
  /// Of the field `Content-Type`.
  var boundary: String?
  let bytes: [UInt8]
  let pictures: [[UInt8]]
  var damagedCount = 0

  var testDescription: String { manner }

  init(
    _ manner: String, boundary: String?, _ pieces: [Piece], pictures: [[UInt8]] = standard, damaged: Int = 0
  ) {
    self.manner = manner
    self.boundary = boundary
    bytes = pieces.flatMap { $0.bytes }
    self.pictures = pictures
    damagedCount = damaged
  }

  /// Text or a picture.
  enum Piece: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    case text(String)
    case data([UInt8])

    init(stringLiteral text: String) { self = .text(text) }

    var bytes: [UInt8] {
      switch self {
      case .text(let text): Array(text.utf8)
      case .data(let data): data
      }
    }
  }

  static let standard = [markersOnly(1), markersOnly(2, scan: 2), markersOnly(3)]

  /// The standard pictures, each in a part written by `part`.
  private static func parts(_ part: (_ index: Int, _ jpeg: [UInt8]) -> [Piece]) -> [Piece] {
    standard.enumerated().flatMap { part($0, $1) }
  }

  static let all: [ServedStream] = wellFormed + missing + wrong

  /// In the manners of programs that are in use.
  static let wellFormed: [ServedStream] = [
    ServedStream(
      "ustreamer", boundary: "boundarydonotcross",
      parts {
        [
          "--boundarydonotcross\r\nContent-Type: image/jpeg\r\nContent-Length: \($1.count)\r\n",
          "X-Timestamp: 1700000000.\($0)\r\n\r\n", .data($1), "\r\n",
        ]
      }),
    ServedStream(
      "ustreamer, headers in advance", boundary: "boundarydonotcross",
      ["--boundarydonotcross\r\n"]
        + parts {
          [
            "Content-Type: image/jpeg\r\nX-Timestamp: 1700000000.\($0)\r\n\r\n", .data($1),
            "\r\n--boundarydonotcross\r\n",
          ]
        }),
    ServedStream(
      "mjpg-streamer", boundary: "boundarydonotcross",
      ["--boundarydonotcross\r\n"]
        + parts {
          [
            "Content-Type: image/jpeg\r\nContent-Length: \($1.count)\r\nX-Timestamp: 12.00\($0)\r\n\r\n",
            .data($1),
            "\r\n--boundarydonotcross\r\n",
          ]
        }),
    ServedStream(
      "go2rtc", boundary: "frame",
      parts {
        [
          "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: \($1.count)\r\n\r\n", .data($1), "\r\n",
        ]
      }),
    ServedStream(
      "Motion", boundary: "BoundaryString",
      parts {
        [
          "--BoundaryString\r\nContent-type: image/jpeg\r\nContent-Length:     \($1.count)\r\n\r\n",
          .data($1),
          "\r\n",
        ]
      }),
    ServedStream(
      "Axis", boundary: "myboundary",
      parts {
        [
          "--myboundary\r\nContent-Type: image/jpeg\r\nContent-Length: \($1.count)\r\n\r\n", .data($1),
          "\r\n\r\n",
        ]
      }),
    ServedStream(
      "ESP32-CAM", boundary: "123456789000000000000987654321",
      parts {
        [
          "\r\n--123456789000000000000987654321\r\n",
          "Content-Type: image/jpeg\r\nContent-Length: \($1.count)\r\nX-Timestamp: 7.00000\($0)\r\n\r\n",
          .data($1),
        ]
      }),
    ServedStream(
      "an end that is said", boundary: "frame",
      parts { ["--frame\r\nContent-Type: image/jpeg\r\n\r\n", .data($1), "\r\n"] } + ["--frame--\r\n"]),
  ]

  /// Something is left out.
  static let missing: [ServedStream] = [
    ServedStream(
      "no lengths", boundary: "frame",
      parts { ["--frame\r\nContent-Type: image/jpeg\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "newlines alone", boundary: "frame",
      parts { ["--frame\nContent-Type: image/jpeg\nContent-Length: \($1.count)\n\n", .data($1), "\n"] }),
    ServedStream(
      "newlines alone, no lengths", boundary: "frame", parts { ["--frame\n\n", .data($1), "\n"] }),
    ServedStream(
      "no newline before boundaries", boundary: "frame",
      parts { ["--frame\r\nContent-Length: \($1.count)\r\n\r\n", .data($1)] }),
    ServedStream(
      "no headers and no empty line", boundary: "frame", parts { ["--frame\r\n", .data($1), "\r\n"] }),
    ServedStream("no boundary announced", boundary: nil, parts { ["--x\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "no boundary anywhere", boundary: "frame",
      parts { ["Content-Type: image/jpeg\r\nContent-Length: \($1.count)\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "pictures without an end", boundary: "frame",
      parts { ["--frame\r\n\r\n", .data($1.dropLast(2)), "\r\n"] } + ["--frame\r\n"],
      pictures: standard.map { $0.dropLast(2) }),
    ServedStream(
      "pictures without an end, their lengths right", boundary: "frame",
      parts { ["--frame\r\nContent-Length: \($1.count - 2)\r\n\r\n", .data($1.dropLast(2)), "\r\n"] }
        + ["--frame\r\n"], pictures: standard.map { $0.dropLast(2) }),
  ]

  /// Something is not as it is said to be.
  static let wrong: [ServedStream] = [
    ServedStream(
      "dashes in the boundary's name, once on the wire", boundary: "--frame",
      parts { ["--frame\r\nContent-Length: \($1.count)\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "dashes in the boundary's name, and more on the wire", boundary: "--frame",
      parts { ["----frame\r\nContent-Length: \($1.count)\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "another boundary than announced", boundary: "other",
      parts { ["--frame\r\nContent-Type: image/jpeg\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "a preamble", boundary: "frame",
      ["This is a stream\r\n\r\n"] + parts { ["--frame\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "lengths too short", boundary: "frame",
      parts { ["--frame\r\nContent-Length: \($1.count / 2)\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "lengths too long", boundary: "frame",
      parts { ["--frame\r\nContent-Length: \($1.count + 40)\r\n\r\n", .data($1), "\r\n"] } + ["--frame\r\n"]),
    ServedStream(
      "lengths that no picture has", boundary: "frame",
      parts { ["--frame\r\nContent-Length: 99999999999999999999\($0)\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "names in all cases, spaces everywhere", boundary: "frame",
      parts { ["--frame \t\r\ncOnTeNt-LeNgTh :  \($1.count)  \r\nX-TIMESTAMP:9\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "padding after pictures", boundary: "frame",
      parts {
        ["--frame\r\nContent-Length: \($1.count + 3)\r\n\r\n", .data($1 + [0, 0, 0]), "\r\n"]
      }, pictures: standard.map { $0 + [0, 0, 0] }),
    ServedStream(
      "empty parts", boundary: "frame",
      parts {
        [
          "--frame\r\n\r\n\r\n--frame\r\nContent-Type: image/jpeg\r\nContent-Length: 0\r\n\r\n\r\n--frame\r\n--frame\r\n\r\n",
          .data($1), "\r\n",
        ]
      }),
    ServedStream(
      "parts that are no pictures", boundary: "frame",
      parts {
        [
          "--frame\r\nContent-Type: text/plain\r\n\r\nhello -- you\r\n--frame\r\nContent-Type: image/jpeg\r\n\r\n",
          .data($1), "\r\n",
        ]
      }),
    ServedStream(
      "parts that are called pictures and are none", boundary: "frame",
      parts { ["--frame\r\nContent-Type: image/jpeg\r\n\r\nhello\r\n--frame\r\n\r\n", .data($1), "\r\n"] },
      damaged: 3),
    ServedStream(
      "a part that begins with dashes", boundary: "frame",
      [
        "--frame\r\nContent-Type: image/jpeg\r\n\r\n--flame\r\n--frame\r\n\r\n", .data(standard[0]),
        "\r\n--frame\r\n",
      ],
      pictures: [standard[0]], damaged: 1),
    ServedStream(
      "the last boundary after each part", boundary: "frame",
      parts {
        ["--frame\r\nContent-Length: \($1.count)\r\n\r\n", .data($1), "\r\n--frame--\r\n"]
      }),
    ServedStream(
      "the last boundary before each part", boundary: "frame",
      parts { ["--frame--\r\nContent-Length: \($1.count)\r\n\r\n", .data($1), "\r\n"] }),
    ServedStream(
      "an empty line before the fields", boundary: "frame",
      parts {
        ["--frame\r\n\r\nContent-Type: image/jpeg\r\nContent-Length: \($1.count)\r\n\r\n", .data($1), "\r\n"]
      }),
    ServedStream(
      "other bytes before pictures", boundary: "frame",
      parts {
        [
          "--frame\r\nContent-Length: \($1.count + 7)\r\n\r\n", .data([1, 2, 0xFF, 0xFF, 0xD8, 0xFF, 0]),
          .data($1), "\r\n",
        ]
      }),
    ServedStream(
      "PNGs", boundary: "frame",
      parts { index, _ in
        ["--frame\r\nContent-Type: image/png\r\n\r\n", .data(chunksOnly(UInt8(index)) + [0, 13]), "\r\n"]
      }, pictures: (0..<3).map { chunksOnly($0) }),
    ServedStream(
      "PNGs with their lengths", boundary: "frame",
      parts { index, _ in
        let png = chunksOnly(UInt8(index))
        return ["--frame\r\nContent-Length: \(png.count)\r\n\r\n", .data(png), "\r\n"]
      }, pictures: (0..<3).map { chunksOnly($0) }),
    ServedStream(
      "a picture cut short between others", boundary: "frame",
      [
        "--frame\r\nContent-Length: \(standard[0].count)\r\n\r\n", .data(standard[0]), "\r\n",
        "--frame\r\nContent-Length: \(standard[1].count)\r\n\r\n", .data(Array(standard[1].prefix(25))),
        "\r\n",
        "--frame\r\nContent-Length: \(standard[2].count)\r\n\r\n", .data(standard[2]), "\r\n",
      ], pictures: [standard[0], Array(standard[1].prefix(25)), standard[2]]),
  ]
}

/// `bytes` as gzip has them (RFC 1952), stored: blocks of at most 65,535 bytes, nothing made smaller.
func gzip(_ bytes: [UInt8]) -> [UInt8] {
  func little(_ number: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(number >> (8 * $0) & 0xFF) } }
  var sum: UInt32 = 0xFFFF_FFFF
  for byte in bytes {
    sum ^= UInt32(byte)
    for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
  }
  var result: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
  for start in stride(from: 0, to: bytes.count, by: 65_535) {
    let block = bytes[start..<min(start + 65_535, bytes.count)]
    result +=
      [block.endIndex == bytes.count ? 1 : 0] + little(block.count, 2) + little(~block.count & 0xFFFF, 2)
    result += block
  }
  return result + little(Int(~sum), 4) + little(bytes.count, 4)
}
