// Formats of recorded files as samples have them, for a file that takes samples over from several files.

extension MP4Index.Format {
  /// The format of the samples, with the size that is shown. Nil if it does not have one parameter set of
  /// each kind, as `FragmentedMP4` writes them, or if they are not understood.
  package var h264: H264Format? {
    // ISO/IEC 14496-15, 5.3.3.1.2.
    var rest = header.dropFirst(5)
    guard let sps = Self.takeSet(&rest), let pps = Self.takeSet(&rest),
      let coded = SequenceParameters(sps)?.size
    else { return nil }
    let size = shown.flatMap { $0.even == coded.even ? $0 : nil } ?? coded
    return H264Format(sps: sps, pps: pps, size: size, encoder: nil)
  }

  /// Takes a list of one parameter set; nil if there is another number of them, or if it is cut short.
  private static func takeSet(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard let count = rest.popFirst(), count & 31 == 1, rest.count > 2 else { return nil }
    let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
    rest = rest.dropFirst(2)
    guard length <= rest.count else { return nil }
    defer { rest = rest.dropFirst(length) }
    return Array(rest.prefix(length))
  }
}
