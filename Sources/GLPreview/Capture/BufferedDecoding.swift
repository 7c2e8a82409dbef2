// Decoders of H.264 that is at hand, independently of any source.

/// Decodes H.264 that is at hand, such as a recording's.
package enum BufferedDecoding {
  /// Returns a decoder of one stream, for one caller at a time.
  ///
  /// - Parameters:
  ///   - maximumPixels: the most pixels that a picture may have.
  ///   - memory: where frames and the decoder take their memory.
  /// - Returns: nil if this build has no decoder.
  package static func makeDecoder(maximumPixels: Int, memory: FramePool) -> (any BufferedDecoder)? {
    #if FFmpeg
      BufferedVideoDecoder(maximumPixels: maximumPixels, memory: memory)
    #else
      nil
    #endif
  }
}
