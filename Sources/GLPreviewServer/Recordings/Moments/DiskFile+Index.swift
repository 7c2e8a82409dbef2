// Reads where the pictures of a recorded file are, on a thread that may wait for a disk.

extension DiskFile {
  /// Reads where the pictures of a recording are.
  ///
  /// - Parameters:
  ///   - earlier: an index of the file from which reading goes on.
  ///   - size: the number of bytes of the file to read up to.
  ///   - mayGoOn: asked again and again, as by `MP4Index.extend`.
  /// - Returns: the index; nil if `mayGoOn` has returned false, or the task was cancelled.
  func index(
    from earlier: MP4Index = MP4Index(), to size: Int,
    mayGoOn: @escaping @Sendable (_ pictureCount: Int) -> Bool
  ) async -> MP4Index? {
    let isCancelled = Watched(false)
    return await withTaskCancellationHandler {
      await withReading { read -> MP4Index? in
        var (index, isStopped) = (earlier, false)
        index.extend(
          to: size, read: read,
          mayGoOn: { count in
            isStopped = isCancelled.value || !mayGoOn(count)
            return !isStopped
          })
        return isStopped ? nil : index
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  /// Reads ranges of the file one after another; fewer bytes where it can't be read.
  func read(_ ranges: [Range<Int>]) async -> [UInt8] {
    await withReading { read in
      var bytes: [UInt8] = []
      bytes.reserveCapacity(ranges.reduce(0) { $0 + $1.count })
      for range in ranges {
        let part = read(range.lowerBound, range.count)
        bytes += part
        guard part.count == range.count else { break }
      }
      return bytes
    }
  }
}
