// The bytes of recorded files: reading, writing, and finishing those that an earlier run left.
internal import GLPreview
internal import Glibc

enum RecordedBytes {
  /// What earlier runs left: those that were not finished are finished, up to their last whole fragment.
  static func adopt(_ store: inout FolderStore) -> (recordings: [Recording], repaired: Int) {
    var (recordings, repaired) = ([Recording](), 0)
    for file in store.found {
      guard let descriptor = store.open(file.name, forWriting: true) else { continue }
      defer { close(descriptor) }
      var isReadable = true
      let known = MP4Recording(size: file.bytes) { offset, count in
        let bytes = read(descriptor, offset, count)
        if bytes.count < count { isReadable = false }
        return bytes
      }
      // What can't be read, or is not of this program, stays as it is.
      guard isReadable, let start = file.name.time else { continue }
      guard let known else {
        let isOurs = read(descriptor, 4, 8) == Array("ftypiso6".utf8)
        // A beginning without a picture.
        if file.bytes == 0 || isOurs && file.bytes < 4096 { try? store.remove(file.name) }
        continue
      }
      if !known.isFinished {
        repaired += 1
        if ftruncate(descriptor, known.byteCount) != 0 { continue }
        _ = write(MP4Recording.finish(length: known.length), at: known.lengthOffset, descriptor)
      }
      recordings.append(
        Recording(
          camera: file.name.camera.percentDecoded, view: String(file.name.view).percentDecoded,
          name: file.name,
          start: start, duration: duration(known.length), bytes: known.byteCount))
    }
    return (recordings, repaired)
  }

  static func duration(_ length: Int) -> Duration { .seconds(Double(length) / 90_000) }

  /// Up to so many bytes of a file from an offset on.
  static func read(_ descriptor: CInt, _ offset: Int, _ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = unsafe pread(
          descriptor, buffer.baseAddress.map { unsafe $0 + filled }, count - filled, offset + filled)
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { break }
        filled += got
      }
    }
  }

  static func write(_ bytes: [UInt8], at offset: Int, _ descriptor: CInt) -> Bool {
    unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, bytes.count, offset) }
      == bytes.count
  }

  /// Writes all bytes at the end of what is written; 0, or `errno`.
  @Sendable static func append(_ descriptor: CInt, _ bytes: [UInt8]) -> CInt {
    unsafe bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = unsafe Glibc.write(
          descriptor, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return count < 0 ? errno : ENOSPC }
        done += count
      }
      return 0
    }
  }
}
