// Writes MP4 boxes (ISO/IEC 14496-12, and -15 for H.264) with one video track.

/// Ticks per second in our tracks.
package let videoTimescale = 90_000

/// Bytes that are written box by box.
struct MP4Boxes {
  private(set) var bytes: [UInt8] = []

  mutating func box(_ type: String, _ content: (inout MP4Boxes) -> Void) {
    let start = bytes.count
    put(UInt32(0))
    put(type)
    content(&self)
    set(UInt32(truncatingIfNeeded: bytes.count - start), at: start)
  }

  /// Writes a box with a version and flags.
  mutating func full(
    _ type: String, version: UInt32 = 0, flags: UInt32 = 0, _ content: (inout MP4Boxes) -> Void
  ) {
    box(type) {
      $0.put(version << 24 | flags)
      content(&$0)
    }
  }

  mutating func put(_ values: [UInt8]) { bytes += values }
  mutating func put(_ text: String) { bytes += text.utf8 }
  mutating func put(_ values: UInt16...) { for value in values { bytes.append(bigEndian: value) } }
  mutating func put(_ values: UInt32...) { for value in values { bytes.append(bigEndian: value) } }
  mutating func put(_ values: UInt64...) { for value in values { bytes.append(bigEndian: value) } }
  mutating func zeros(_ count: Int) { bytes += [UInt8](repeating: 0, count: count) }

  /// Replaces a value that was written before.
  mutating func set(_ value: UInt32, at offset: Int) {
    for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * index)) }
  }
}

// MARK: Shared by files and fragments

extension MP4Boxes {
  /// Writes the beginning of a file, with the brands of fragments and of H.264 in MP4.
  mutating func fileType(_ brand: String) {
    box("ftyp") {
      $0.put(brand)
      $0.put(UInt32(512))
      for compatible in Set([brand, "isom", "iso6", "avc1", "mp41"]).sorted() { $0.put(compatible) }
    }
  }

  /// Writes the movie: one track of these formats, shown from `begin` ticks after its first sample on.
  /// `tables` writes the boxes of the sample table after its descriptions, and `more` those after the track.
  mutating func movie(
    _ formats: [H264Format], duration: UInt64, from begin: Int = 0, tables: (inout MP4Boxes) -> Void,
    more: (inout MP4Boxes) -> Void = { _ in }
  ) {
    // Not the clean aperture's size, because players that ignore it would stretch the picture.
    let size = formats.first?.codedSize ?? Size(width: 0, height: 0)
    let begin = min(max(begin, 0), Int(Int32.max))
    let shown = duration - min(UInt64(begin), duration)
    box("moov") { moov in
      moov.full("mvhd", version: 1) {
        $0.times(shown, timescale: true)
        $0.put(UInt32(0x10000))
        $0.put(UInt16(0x100))
        $0.zeros(10)
        $0.matrix()
        $0.zeros(24)
        $0.put(UInt32(2))
      }
      moov.box("trak") { track in
        // Enabled, in the movie.
        track.full("tkhd", version: 1, flags: 3) {
          $0.times(shown, timescale: false)
          $0.zeros(16)
          $0.matrix()
          $0.put(UInt32(size.width) << 16, UInt32(size.height) << 16)
        }
        if begin > 0 {
          track.box("edts") { edits in
            // One edit up to the end, at normal speed (ISO/IEC 14496-12, 8.6.6); in fragments, its length is
            // unknown.
            edits.full("elst") {
              $0.put(UInt32(1), UInt32(clamping: shown), UInt32(clamping: begin), 0x10000)
            }
          }
        }
        track.box("mdia") { $0.media(formats, duration, tables) }
      }
      more(&moov)
    }
  }

  private mutating func media(
    _ formats: [H264Format], _ duration: UInt64, _ tables: (inout MP4Boxes) -> Void
  ) {
    full("mdhd", version: 1) {
      $0.times(duration, timescale: true)
      // The language is undetermined.
      $0.put(UInt16(0x55c4), 0)
    }
    full("hdlr") {
      $0.zeros(4)
      $0.put("vide")
      $0.zeros(12)
      $0.put("video\0")
    }
    box("minf") { information in
      information.full("vmhd", flags: 1) { $0.zeros(8) }
      information.box("dinf") {
        $0.full("dref") {
          $0.put(UInt32(1))
          // The samples are in this file.
          $0.full("url ", flags: 1) { _ in }
        }
      }
      information.box("stbl") { table in
        table.full("stsd") {
          $0.put(UInt32(formats.count))
          for format in formats { $0.sampleEntry(format) }
        }
        tables(&table)
      }
    }
  }

  /// Writes unknown times of creation and modification; then the timescale, or the track's number; then the
  /// duration.
  private mutating func times(_ duration: UInt64, timescale: Bool) {
    zeros(16)
    if timescale { put(UInt32(videoTimescale)) } else { put(UInt32(1), 0) }
    put(duration)
  }

  /// Writes the identity matrix: pictures are not transformed.
  private mutating func matrix() { put(UInt32(0x10000), 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000) }

  private mutating func sampleEntry(_ format: H264Format) {
    let coded = format.codedSize
    box("avc1") { entry in
      entry.zeros(6)
      entry.put(UInt16(1))
      entry.zeros(16)
      entry.put(UInt16(truncatingIfNeeded: coded.width), UInt16(truncatingIfNeeded: coded.height))
      // 72 dots an inch, one picture a sample, no name, 24 bits, no colour table.
      entry.put(UInt32(0x480000), 0x480000, 0)
      entry.put(UInt16(1))
      entry.zeros(32)
      entry.put(UInt16(24), 0xffff)
      entry.box("avcC") {
        $0.put([1] + format.sps.dropFirst().prefix(3) + [0xff, 0xe1])
        $0.put(UInt16(truncatingIfNeeded: format.sps.count))
        $0.put(format.sps)
        $0.put([1])
        $0.put(UInt16(truncatingIfNeeded: format.pps.count))
        $0.put(format.pps)
        // High profiles have further fields (ISO/IEC 14496-15, 5.3.3.1.2): 4:2:0, 8 bits, no further sets.
        if [100, 110, 122, 144].contains(format.sps.dropFirst().first) { $0.put([0xfd, 0xf8, 0xf8, 0]) }
      }
      // As in the stream: BT.709's primaries, sRGB's curve, BT.601's matrix, limited range (H.273, tables 2
      // to 4). A camera's own stream carries its own description.
      if format.encoder != nil {
        entry.box("colr") {
          $0.put("nclx")
          $0.put(UInt16(1), 13, 6)
          $0.put([UInt8(0)])
        }
      }
      if coded != format.size { entry.cleanAperture(format.size, of: coded) }
    }
  }

  /// Writes the part of the picture to show, where a column or row was added at the end: the centre moves by
  /// half a pixel.
  private mutating func cleanAperture(_ size: Size, of coded: Size) {
    box("clap") {
      $0.put(UInt32(size.width), 1, UInt32(size.height), 1)
      for added in [coded.width - size.width, coded.height - size.height] {
        $0.put(UInt32(bitPattern: Int32(-added)), 2)
      }
    }
  }
}

extension CaptureInstant {
  /// Returns the ticks since `start`.
  func ticks(since start: CaptureInstant) -> Int {
    Int(((self - start) / .seconds(1) * Double(videoTimescale)).rounded())
  }
}
