// Colours as text: the bars of a fitted view and what lies behind transparency.
// `#RRGGBB` and bare `RRGGBB` (DECISIONS.md 20).
import PreviewCore
import Testing

@Test("a colour is parsed with and without #, in upper and lower case")
func readsColors() {
  #expect(RGBColor("#0a80FF") == RGBColor(red: 0x0a, green: 0x80, blue: 0xff))
  #expect(RGBColor("0A80ff") == RGBColor(red: 0x0a, green: 0x80, blue: 0xff))
  #expect(RGBColor("000000") == .black)
}

@Test(
  "any other colour text is rejected",
  arguments: [
    "", "#", "12345", "#12345", "1234567", "#1234567", "##123456", "##12345", "+12345", "-12345", "0x1234",
    "12 456",
    " 123456", "123456 ", "red", "#ggg000", "１２", "１２３４５６", "#\u{301}12345", "12345\u{301}", "#fff",
  ])
func refusesColors(text: String) { #expect(RGBColor(text) == nil) }

@Test("a colour prints as # and six upper-case hexadecimal digits, and parses back")
func printsColors() {
  #expect(RGBColor(red: 0, green: 0, blue: 10).description == "#00000A")
  #expect(RGBColor(red: 255, green: 255, blue: 255).description == "#FFFFFF")
  for code: UInt8 in [0, 1, 9, 15, 16, 127, 128, 254, 255] {
    let color = RGBColor(red: code, green: 255 - code, blue: code / 3)
    #expect(RGBColor(color.description) == color)
  }
}

@Test("RGBColor.codes lists red, green and blue in order")
func colorCodes() { #expect(RGBColor(red: 1, green: 2, blue: 3).codes == [1, 2, 3]) }
