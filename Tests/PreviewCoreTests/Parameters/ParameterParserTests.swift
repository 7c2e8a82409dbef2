import PreviewCore
import Testing

@Suite("Parameter parser")
struct ParameterParserTests {
  @Test("an error quotes the beginning and the end of a long value")
  func brief() {
    let points = (0..<10_000).map { "\($0 % 99),\($0 % 77)" }.joined(separator: " ")
    let error = #expect(throws: ParameterError.self) { try PrivacyMask(parsing: points) }
    #expect((20...1000).contains(error?.description.unicodeScalars.count ?? 0))
    #expect("short".brief == "short")
    let long = String(repeating: "a\u{301}", count: 600) + "end"
    #expect(long.brief.unicodeScalars.count == 905 && long.brief.hasSuffix("end"))
  }

  @Test("integers are decimal digits within bounds")
  func whole() throws {
    #expect(try ParameterParser.whole("z", "7", in: 0...9) == 7)
    #expect(try ParameterParser.whole("z", "-7", in: -9...9) == -7)
    #expect(try ParameterParser.whole("z", "1000000000", in: 1...1_000_000_000) == 1_000_000_000)
    for text in ["", "-", "+7", " 7", "7.0", "0x7", "1e3", "٣", "10", "99999999999999999999", "-1"] {
      let error = #expect(throws: ParameterError.self) { try ParameterParser.whole("z", text, in: 0...9) }
      #expect(error == ParameterError("z", "'\(text)' is not a whole number from 0 to 9"))
    }
  }

  @Test("numbers are finite and within bounds")
  func number() throws {
    #expect(try ParameterParser.number("opacity", "0.5", in: 0...1) == 0.5)
    for text in ["", "nan", "inf", "1.5", "-0.1", "half"] {
      let error = #expect(throws: ParameterError.self) {
        try ParameterParser.number("opacity", text, in: 0...1)
      }
      #expect(error?.description == "opacity: '\(text)' is not a number from 0 to 1")
    }
  }

  @Test("a flag accepts four values for true and four for false")
  func flag() throws {
    for text in ["true", "yes", "ON", "1"] { #expect(try ParameterParser.flag("linear", text)) }
    for text in ["false", "No", "off", "0"] { #expect(try !ParameterParser.flag("linear", text)) }
    #expect(throws: ParameterError("linear", "'maybe' is not true or false")) {
      try ParameterParser.flag("linear", "maybe")
    }
  }

  @Test("a size has two sides, with a configurable separator")
  func size() throws {
    #expect(try ParameterParser.size("size", "640x360") == Size(width: 640, height: 360))
    #expect(try ParameterParser.size("aspect", "16:9", separator: ":") == Size(width: 16, height: 9))
    for text in ["", "640", "x", "640x", "0x1", "1x65536", "1x2x3", "-1x2", "1X2"] {
      #expect(
        throws: ParameterError("size", "'\(text)' is not WxH, such as 640x360, with sides from 1 to 65535")
      ) {
        try ParameterParser.size("size", text)
      }
    }
  }

  @Test("a rectangle is WxH+X+Y or X,Y,W,H, and is not empty")
  func rectangle() throws {
    let rectangle = Rectangle(x: 3, y: 4, width: 10, height: 20)

    #expect(try ParameterParser.rectangle("crop", "10x20+3+4") == rectangle)
    #expect(try ParameterParser.rectangle("crop", "3,4,10,20") == rectangle)
    for text in ["", "10x20", "10+20x3+4", "10x20+3,4", "1,2,3", "1,2,3,4,5", "10x20+3+-4"] {
      #expect(
        throws: ParameterError(
          "crop", "'\(text)' is not a rectangle: use WxH+X+Y, such as 640x360+0+0, or X,Y,W,H")
      ) {
        try ParameterParser.rectangle("crop", text)
      }
    }
    #expect(throws: ParameterError("crop", "'0x5+1+1' has no pixels")) {
      try ParameterParser.rectangle("crop", "0x5+1+1")
    }
  }

  @Test("a part without = belongs to the previous value")
  func pairs() throws {
    let pairs = try ParameterParser.pairs("crop=1,2,3,4,mode=fit", of: "view 'a'")

    #expect(pairs.map(\.key) == ["crop", "mode"])
    #expect(pairs.map(\.value) == ["1,2,3,4", "fit"])
  }

  @Test("a list that starts without a key, or repeats a key, is rejected")
  func badPairs() {
    #expect(throws: ParameterError("scene", "'gap' is not KEY=VALUE")) {
      try ParameterParser.pairs("gap", of: "scene")
    }
    #expect(throws: ParameterError("gap", "given twice in scene")) {
      try ParameterParser.pairs("gap=1,gap=2", of: "scene")
    }
    #expect(throws: ParameterError("w", "given twice in view 'a'")) {
      try ParameterParser.pairs(
        "size=1x1,w=2", of: "view 'a'", twins: ["size": ["width", "height"], "w": ["width"]])
    }
  }
}
