// Encodes a picture as a file, optionally within a byte budget.

/// An encoded picture.
public struct EncodedPicture: Sendable, Hashable {
  /// The file formats of pictures.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// JFIF.
    case jpeg
    /// RGB, 8 bits.
    case png

    /// The format for a file name: `.jpg`, `.jpeg` or `.png` in any case; nil for other names.
    package init?(fileName: String) {
      let name = fileName.lowercased()
      if name.hasSuffix(".jpg") || name.hasSuffix(".jpeg") {
        self = .jpeg
      } else if name.hasSuffix(".png") {
        self = .png
      } else {
        return nil
      }
    }
  }

  /// The file's bytes.
  public let bytes: [UInt8]
  /// The JPEG quality that was used; nil for PNG, and for a JPEG that was not encoded here.
  public let quality: Int?
  /// The picture's size, in pixels.
  public let size: Size
}

/// Encodes pictures.
public struct PictureEncoder: Sendable, Hashable {
  /// The file format.
  public let format: EncodedPicture.Format
  /// JPEG quality, 1...100.
  public let quality: Int
  /// The chroma subsampling of JPEGs.
  public let subsampling: Picture.ChromaSubsampling
  /// The byte budget of a file; nil for no limit.
  public let maximumBytes: Int?

  /// Creates an encoder.
  ///
  /// - Parameters:
  ///   - format: the file format.
  ///   - quality: the JPEG quality, clamped to 1...100.
  ///   - subsampling: the chroma subsampling of JPEGs.
  ///   - maximumBytes: the byte budget. A JPEG has the highest quality up to `quality` that fits if that is
  ///     at least 30; otherwise it is smaller, at quality 50, as `RenderedPicture.jpeg` says. A PNG that does
  ///     not fit is an error.
  public init(
    _ format: EncodedPicture.Format, quality: Int = 80, subsampling: Picture.ChromaSubsampling = .yuv420,
    maximumBytes: Int? = nil
  ) {
    self.format = format
    self.quality = min(max(quality, 1), 100)
    self.subsampling = subsampling
    self.maximumBytes = maximumBytes
  }

  /// The sample format that the encoder expects from a renderer.
  public var pictureFormat: Picture.Format { format == .jpeg ? .ycbcr(subsampling) : .rgba }

  /// The request that a renderer codes pictures for it. Within a budget, their samples may be needed, too.
  package var coding: PictureCoding? {
    format == .jpeg ? PictureCoding(quality: quality, maximumBytes: maximumBytes) : nil
  }

  /// Encodes one picture.
  ///
  /// - Parameters:
  ///   - picture: a picture in `pictureFormat`.
  ///   - iccProfile: the ICC profile of the source frame, for R, G, B.
  ///   - time: when the frame was captured, which a JPEG holds as EXIF; nil leaves it out.
  /// - Returns: the encoded picture.
  /// - Throws: `Failure` if the picture can't be encoded, or not within the budget.
  public func encode(
    _ picture: Picture, iccProfile: [UInt8]? = nil, capturedAt time: WallTime? = nil
  ) throws(Failure) -> EncodedPicture {
    guard format == .png else {
      return try FittedJPEG(picture, iccProfile: iccProfile, capturedAt: time, quality: quality)
        .encode(maximumBytes: maximumBytes)
    }
    do throws(CodecError) {
      let bytes = try PNGEncoder().encode(picture, iccProfile: iccProfile)
      if let maximumBytes, bytes.count > maximumBytes {
        throw CodecError.overBudget(picture.size, bytes.count, maximumBytes)
      }
      return EncodedPicture(bytes: bytes, quality: nil, size: picture.size)
    } catch {
      throw Failure(description: error.description)
    }
  }
}

extension PictureEncoder {
  /// The error for a picture that can't be encoded as requested.
  public struct Failure: Error, Hashable, CustomStringConvertible {
    /// The cause of the failure.
    public let description: String
  }
}

extension EncodedPicture {
  /// The file in base64.
  public var base64: String { String(decoding: Base64.encoded(bytes), as: UTF8.self) }

  /// The file as a data URL: `data:image/jpeg;base64,...`.
  public var dataURL: String { "data:\(mediaType);base64,\(base64)" }

  /// `image/jpeg`, or `image/png`.
  public var mediaType: String { bytes.starts(with: [0xFF, 0xD8]) ? "image/jpeg" : "image/png" }

  /// Writes the file to `path`, replacing its content.
  ///
  /// Readers see either the old or the new file, never a partial one. Devices and FIFOs are written in place.
  /// A symbolic link is kept and its target replaced.
  ///
  /// - Throws: `WriteError`; no partial file remains.
  public func write(to path: String) throws(WriteError) { try PictureFile.write(bytes, to: path) }
}
