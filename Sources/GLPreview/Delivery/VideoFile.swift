// The formats of videos; and writes uncompressed pictures in sequence, for encoders, analysers and pipes.
internal import Glibc
internal import Synchronization

package enum VideoFormat: String, Sendable, Hashable, CaseIterable {
  /// YUV4MPEG2: a header line, then planes Y', Cb, Cr (BT.601, full range, chroma centred).
  case y4m
  /// The planes of `y4m`, without headers.
  case yuv
  /// R, G, B, A bytes without headers.
  case rgba
  /// H.264 in MP4, written by `VideoFileWriter`.
  case mp4
  /// H.264 without a container (Annex B), written by `VideoFileWriter`.
  case h264

  /// The format for a file name, by its extension in any case; nil for other names.
  package init?(fileName: String) {
    let name = fileName.lowercased()
    guard let format = Self.allCases.first(where: { name.hasSuffix(".\($0.rawValue)") }) else { return nil }
    self = format
  }

  package func pictureFormat(_ subsampling: Picture.ChromaSubsampling) -> Picture.Format {
    switch self {
    case .rgba: .rgba
    case .y4m, .yuv: .ycbcr(subsampling)
    case .mp4, .h264: .video
    }
  }

  /// The format of the file; nil if pictures are not encoded.
  package var file: VideoFileWriter.Format? { VideoFileWriter.Format(rawValue: rawValue) }
}

/// A file, a FIFO or standard output, to which uncompressed pictures of one size are appended.
package final class VideoFile: Sendable {
  private let path: String
  private let format: VideoFormat
  private let framesPerSecond: Double
  private let file: CInt
  private let size = Mutex<Size?>(nil)

  /// Opens and truncates the file at `path`; `-` is standard output. Y4M has a fixed rate, `framesPerSecond`,
  /// whatever the pictures' real times.
  package init(_ path: String, _ format: VideoFormat, framesPerSecond: Double) throws(WriteError) {
    self.path = path
    self.format = format
    self.framesPerSecond = framesPerSecond
    file =
      path == "-"
      ? STDOUT_FILENO : unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o666)
    guard file >= 0 else { throw WriteError(opening: path, errno) }
  }

  /// Whether two paths lead to the same file, which must not be read and truncated at the same time.
  package static func isSameFile(_ path: String, _ other: String) -> Bool {
    var (first, second) = (stat(), stat())
    return unsafe stat(path, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev
      && first.st_ino == second.st_ino && first.st_mode & S_IFMT == S_IFREG
  }

  deinit { if path != "-" { close(file) } }

  /// Appends `picture`, which must be in the format's `pictureFormat` and of the first one's size. Returns
  /// the number of bytes written.
  package func write(_ picture: Picture) throws(WriteError) -> Int {
    let first = size.withLock { size in
      defer { if size == nil { size = picture.size } }
      return size
    }
    if let first, first != picture.size {
      throw WriteError(path, "a \(picture.size) picture can't follow \(first) ones; give the view a size")
    }
    let name = path == "-" ? "standard output" : path
    var bytes: [UInt8] = []
    if format == .y4m { bytes = Array(((first == nil ? header(picture) : "") + "FRAME\n").utf8) }
    for plane in picture.planes {
      let row = plane.size.width * picture.format.bytesPerSample
      for y in 0..<plane.size.height {
        bytes += picture.bytes[(plane.offset + y * plane.bytesPerRow)...].prefix(row)
      }
    }
    try PictureFile.write(bytes, to: file, named: name)
    return bytes.count
  }

  private func header(_ picture: Picture) -> String {
    let chroma =
      switch picture.format {
      case .ycbcr(.yuv444, _): "444"
      case .ycbcr(.yuv422, _): "422"
      default: "420jpeg"
      }
    return
      "YUV4MPEG2 W\(picture.size.width) H\(picture.size.height) F\(rate) Ip A1:1 C\(chroma) XCOLORRANGE=FULL\n"
  }

  /// The rate as a fraction, with 30000:1001 and similar rates recognised.
  private var rate: String {
    let whole = (framesPerSecond * 1.001).rounded()
    if abs(framesPerSecond.rounded() - framesPerSecond) > 1e-6, abs(whole / 1.001 - framesPerSecond) < 5e-3 {
      return "\(Int(whole) * 1000):1001"
    }
    let thousandths = Int((framesPerSecond * 1000).rounded())
    return thousandths % 1000 == 0 ? "\(thousandths / 1000):1" : "\(max(thousandths, 1)):1000"
  }
}
