// The GLSL files of Resources/shaders, embedded in the binary.
internal import CShaders

/// The text of one shader file.
package struct ShaderSource: Sendable, Hashable {
  /// The name below Resources/shaders or Resources/shaders/include.
  package let fileName: String
  /// The file's text, or the text with includes resolved.
  package let text: String

  /// A triangle that covers the viewport.
  package static let fullscreen = unsafe ShaderSource("fullscreen.vert", glp_fullscreen_vert)
  /// Sums weighted rows of a plane.
  package static let rows = unsafe ShaderSource("rows.frag", glp_rows_frag)
  /// Sums weighted rows of light.
  package static let light = unsafe ShaderSource("light.frag", glp_light_frag)
  /// Sums weighted columns of sums of rows.
  package static let columns = unsafe ShaderSource("columns.frag", glp_columns_frag)
  /// Does what `rows` or `light` and then `columns` do, for a tile of outputs, in a compute shader.
  package static let passes = unsafe ShaderSource("passes.comp", glp_passes_comp)
  /// Weights at most two by two samples for each output.
  package static let sample = unsafe ShaderSource("sample.frag", glp_sample_frag)
  /// Draws a warped view.
  package static let warp = unsafe ShaderSource("warp.frag", glp_warp_frag)
  /// Copies a plane rotated.
  package static let turn = unsafe ShaderSource("turn.frag", glp_turn_frag)

  /// Resamples by areas, sixteen bytes at a time.
  package static let words = unsafe ShaderSource("words.frag", glp_words_frag)
  /// Copies a plane rotated, sixteen bytes at a time.
  package static let turnWords = unsafe ShaderSource("turnwords.frag", glp_turnwords_frag)

  /// Draws one layer of a composition.
  package static let layer = unsafe ShaderSource("layer.frag", glp_layer_frag)
  /// Enlarges blur samples along the columns.
  package static let spread = unsafe ShaderSource("spread.frag", glp_spread_frag)
  /// Makes planes of a composed picture.
  package static let planes = unsafe ShaderSource("planes.frag", glp_planes_frag)

  /// Transforms and quantises the blocks of a JPEG.
  static let jpegDCT = unsafe ShaderSource("jpegdct.comp", glp_jpegdct_comp)
  /// Counts the bits that a JPEG would take at several qualities.
  static let jpegCounts = unsafe ShaderSource("jpegcounts.comp", glp_jpegcounts_comp)
  /// Chooses the quality of a JPEG within a budget.
  static let jpegChoice = unsafe ShaderSource("jpegchoice.comp", glp_jpegchoice_comp)
  /// Quantises the blocks of a JPEG.
  static let jpegQuantise = unsafe ShaderSource("jpegquantise.comp", glp_jpegquantise_comp)
  /// Counts the bits of a JPEG's blocks.
  static let jpegLengths = unsafe ShaderSource("jpeglengths.comp", glp_jpeglengths_comp)
  /// Adds up counts of bits, or of stuffing.
  static let jpegScan = unsafe ShaderSource("jpegscan.comp", glp_jpegscan_comp)
  /// Clears what the bits and bytes of a JPEG are combined into.
  static let jpegClear = unsafe ShaderSource("jpegclear.comp", glp_jpegclear_comp)
  /// Writes the codes of a JPEG's blocks.
  static let jpegBits = unsafe ShaderSource("jpegbits.comp", glp_jpegbits_comp)
  /// Counts the stuffing of a JPEG's scan.
  static let jpegStuffing = unsafe ShaderSource("jpegstuffing.comp", glp_jpegstuffing_comp)
  /// Writes the bytes of a JPEG's scan.
  static let jpegBytes = unsafe ShaderSource("jpegbytes.comp", glp_jpegbytes_comp)

  private static let included = unsafe [
    ShaderSource("taps.glsl", glp_taps_glsl), ShaderSource("light.glsl", glp_light_glsl),
    ShaderSource("place.glsl", glp_place_glsl), ShaderSource("store.glsl", glp_store_glsl),
    ShaderSource("fold.glsl", glp_fold_glsl),
    ShaderSource("words.glsl", glp_words_glsl),
    ShaderSource("pixels.glsl", glp_pixels_glsl), ShaderSource("bell.glsl", glp_bell_glsl),
    ShaderSource("rows.glsl", glp_rows_glsl), ShaderSource("columns.glsl", glp_columns_glsl),
    ShaderSource("lightrows.glsl", glp_lightrows_glsl), ShaderSource("convert.glsl", glp_convert_glsl),
    ShaderSource("output.glsl", glp_output_glsl), ShaderSource("jpeg.glsl", glp_jpeg_glsl),
    ShaderSource("jpegcode.glsl", glp_jpegcode_glsl), ShaderSource("jpegsums.glsl", glp_jpegsums_glsl),
    ShaderSource("jpegchunk.glsl", glp_jpegchunk_glsl),
    ShaderSource("jpegquality.glsl", glp_jpegquality_glsl),
  ]

  /// The texts of all files, which identify the compiled programs.
  package static let texts =
    ([
      fullscreen, rows, light, columns, passes, sample, warp, turn, words, turnWords, layer, spread, planes,
    ] + JPEGStep.programs.map(\.source) + included).map(\.text)

  private init(_ fileName: String, _ embedded: glp_shader_text) {
    self.fileName = fileName
    self.text = unsafe String(
      decoding: UnsafeRawBufferPointer(start: embedded.text, count: embedded.length), as: UTF8.self)
  }

  init(_ fileName: String, text: String) {
    self.fileName = fileName
    self.text = text
  }

  /// Returns the text with the `#version` line of `other`, because shaders of different versions can't be
  /// linked.
  package func withVersion(of other: ShaderSource) -> ShaderSource {
    let (version, rest) = (
      other.text.utf8.prefix { $0 != UInt8(ascii: "\n") }, text.utf8.drop { $0 != UInt8(ascii: "\n") }
    )
    return ShaderSource(fileName, text: "\(Substring(version))\(Substring(rest))")
  }

  /// Returns the file named in quotation marks.
  private static func source(namedIn line: Substring.UTF8View) -> ShaderSource? {
    let words = line.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
    return words.count < 2 ? nil : included.first { $0.fileName.utf8.elementsEqual(words[1]) }
  }

  /// The text with every `#include "NAME"` line replaced by the named file, recursively.
  ///
  /// GLSL ES has no `#include`. An unknown name is left in place, and the compiler rejects it.
  package var withIncludes: ShaderSource {
    // Works on bytes because Unicode characters are slow, and this runs for each program.
    var bytes: [UInt8] = []
    for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if line.starts(with: "#include ".utf8), let source = ShaderSource.source(namedIn: line) {
        bytes += source.withIncludes.text.utf8
      } else {
        bytes += line
      }
      bytes.append(UInt8(ascii: "\n"))
    }
    return ShaderSource(fileName, text: String(decoding: bytes.dropLast(), as: UTF8.self))
  }
}

/// A fragment shader, or a compute shader, and its defines.
package struct ProgramKey: Sendable, Hashable {
  /// The shader's kind, and where it writes.
  package enum Stage: Sendable, Hashable, CaseIterable {
    /// A fragment shader, which writes to a framebuffer.
    case fragment
    /// A compute shader that writes images.
    case images
    /// A compute shader that writes a buffer.
    case buffer
    /// A compute shader that codes a drawn picture.
    case coding
  }

  package let stage: Stage
  /// The shader, with `#include` lines not yet resolved.
  package let source: ShaderSource
  /// `NAME VALUE` lines, in order.
  package let defines: [String]

  package init(_ fragment: ShaderSource, _ defines: [String]) {
    self.init(.fragment, fragment, defines)
  }

  /// A shader that has forms for several stages; compute shaders are in GLSL's version 3.10.
  init(_ stage: Stage, _ source: ShaderSource, _ defines: [String]) {
    self.stage = stage
    switch stage {
    case .fragment, .coding: (self.source, self.defines) = (source, defines)
    case .images: (self.source, self.defines) = (source.withVersion(of: .passes), ["COMPUTES 1"] + defines)
    case .buffer:
      self.source = source.withVersion(of: .passes)
      self.defines = ["COMPUTES 1", "WRITES_BUFFER 1"] + defines
    }
  }
}
