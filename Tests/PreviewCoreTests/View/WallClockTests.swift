// Times as text. Expected ones are `date -u -d @SECONDS`'s.
import PreviewCore
import Testing

@Test(
  "seconds since 1970 are formatted as calendar dates, clamped to years 0000 to 9999",
  arguments: [
    (0.0, "1970-01-01 00:00:00"), (951_782_400, "2000-02-29 00:00:00"), (951_868_799, "2000-02-29 23:59:59"),
    (951_868_800, "2000-03-01 00:00:00"), (1_795_280_709.9, "2026-11-21 17:05:09"),
    (-1, "1969-12-31 23:59:59"), (-0.5, "1969-12-31 23:59:59"), (4_107_542_399, "2100-02-28 23:59:59"),
    (4_107_542_400, "2100-03-01 00:00:00"), (1_735_689_599, "2024-12-31 23:59:59"),
    (-62_167_219_200, "0000-01-01 00:00:00"), (253_402_300_799, "9999-12-31 23:59:59"),
    (1e300, "9999-12-31 23:59:59"), (-1e300, "0000-01-01 00:00:00"), (.infinity, "1970-01-01 00:00:00"),
    (.nan, "1970-01-01 00:00:00"),
  ])
func calendar(seconds: Double, text: String) {
  #expect(Label.TimeFormat.standard.text(of: WallClockTime(secondsSince1970: seconds)) == text)
}

@Test("a time is shown in the local time zone by default, and in UTC if requested")
func zones() throws {
  let east = WallClockTime(secondsSince1970: 1_795_280_709, secondsFromUTC: 19800)
  let west = WallClockTime(secondsSince1970: 0, secondsFromUTC: -12600)
  #expect(Label.TimeFormat.standard.text(of: east) == "2026-11-21 22:35:09")
  #expect(try Label.TimeFormat("%T %z").text(of: east) == "22:35:09 +0530")
  #expect(try Label.TimeFormat("%FT%T%z").text(of: west) == "1969-12-31T20:30:00-0330")
  #expect(try Label.TimeFormat("%T", zone: .utc).text(of: east) == "17:05:09")
}

@Test("every time directive is formatted, and unknown directives are rejected")
func directives() throws {
  let time = WallClockTime(secondsSince1970: 1_795_280_709)
  #expect(try Label.TimeFormat("%d.%m.%Y %Hh%M:%S 100%% ä").text(of: time) == "21.11.2026 17h05:09 100% ä")
  #expect(try Label.TimeFormat("").text(of: time) == "")
  for wrong in ["%q", "%", "%Y%", "%%%", "% Y", "%y"] {
    #expect(throws: ParameterError.self, "\(wrong)") { try Label.TimeFormat(wrong) }
  }
}
