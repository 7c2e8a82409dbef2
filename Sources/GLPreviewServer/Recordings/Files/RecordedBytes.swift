// Appends bytes to recorded files, and finishes those that an earlier run left unfinished.
internal import Glibc

enum RecordedBytes {
  /// Reads a file of an earlier run. An unfinished file is finished, up to its last whole fragment.
  ///
  /// - Returns: the recording; nil if the file can't be read or is not a recording. Such a file stays as it
  ///   is, but an empty one, or a beginning without a picture, is removed.
  static func inspect(_ file: Recording, in store: inout FolderStore) -> (Recording, isRepaired: Bool)? {
    guard file.name.time != nil, let descriptor = store.open(file.name, forWriting: true) else { return nil }
    defer { close(descriptor) }
    var isReadable = true
    let known = MP4Recording(size: file.bytes) { offset, count in
      let bytes = DiskFile.read(descriptor, offset, count)
      if bytes.count < count { isReadable = false }
      return bytes
    }
    guard isReadable else { return nil }
    guard let known else {
      let isOurs = DiskFile.read(descriptor, 4, 8) == Array("ftypiso6".utf8)
      if file.bytes == 0 || isOurs && file.bytes < 4096 { try? store.remove(file.name) }
      return nil
    }
    if !known.isFinished {
      if ftruncate(descriptor, known.byteCount) != 0 { return nil }
      _ = DiskFile.write(MP4Recording.finish(length: known.length), at: known.lengthOffset, to: descriptor)
    }
    var recording = file
    (recording.duration, recording.bytes) = (duration(known.length), known.byteCount)
    if let (note, start) = RecordingNote.read(known.note) {
      (recording.note, recording.firstPicture) = (note, start)
    }
    return (recording, !known.isFinished)
  }

  static func duration(_ length: Int) -> Duration { .seconds(Double(length) / 90_000) }

  /// Writes all bytes at the end of what is written. Returns 0, or `errno`.
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
