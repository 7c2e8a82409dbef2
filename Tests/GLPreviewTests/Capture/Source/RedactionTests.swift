// Names of sources as people may read them: whatever an address is made of, no secret is left in it.
import Testing

@testable import GLPreview

@Suite("Redaction")
struct RedactionTests {
  /// A source as it is typed, with secrets that have the word `SECRET` or `5EC` in them, and what is shown of it.
  private static let sources: [(String, String)] = [
    // Nothing to hide.
    ("/dev/video0,size=1280x720", "/dev/video0,size=1280x720"), ("-", "-"),
    ("/var/lib/token=5/a b.jpg", "/var/lib/token=5/a b.jpg"), ("pictures/key?.jpg", "pictures/key?.jpg"),
    (
      "/dev/v4l/by-path/pci-0000:00:14.0-usb-0:2:1.0-video-index0",
      "/dev/v4l/by-path/pci-0000:00:14.0-usb-0:2:1.0-video-index0"
    ),
    ("pattern:counter,size=64x48", "pattern:counter,size=64x48"),
    ("rtsp://camera/live?channel=1&subtype=0", "rtsp://camera/live?channel=1&subtype=0"),
    ("http://[fe80::1]:81/?action=stream", "http://[fe80::1]:81/?action=stream"),
    ("udp://@239.0.0.1:1234?pkt_size=1316", "udp://@239.0.0.1:1234?pkt_size=1316"),
    ("rtmp://host/app", "rtmp://host/app"),
    ("rtsp://camera/a#transport=udp", "rtsp://camera/a#transport=udp"),
    // User and password, with every sign that ends something elsewhere.
    ("http://user:SECRET@host/x", "http://***@host/x"), ("http://user:SE@SECRET@host/x", "http://***@host/x"),
    ("http://user:5EC:SECRET@host/x", "http://***@host/x"),
    ("http://user:5EC%40SECRET@host/x", "http://***@host/x"),
    ("http://user:5EC/SECRET@host/x", "http://***@host/x"),
    ("http://user:5EC?SECRET@host/x", "http://***@host/x"),
    ("http://user:5EC#SECRET@host/x", "http://***@host/x"),
    ("http://user:12/SECRET@host/x", "http://***@host/x"),
    ("http://user:5EC SECRET@host/x", "http://***@host/x"),
    ("http://user:\"SECRET\"@host/x", "http://***@host/x"),
    ("http://user:5EC@host/@SECRET@host/", "http://***@host/"), ("http://SECRET@host", "http://***@host"),
    ("http://user:@host", "http://***@host"), ("http://:SECRET@host", "http://***@host"),
    ("rtsp://user:SECRET@[::1]:554/live", "rtsp://***@[::1]:554/live"),
    ("rtsps://user:SECRET@host", "rtsps://***@host"), ("udp://user:SECRET@host:1", "udp://***@host:1"),
    // Whatever letters, however wrong.
    ("RTSP://user:SECRET@host/x", "RTSP://***@host/x"), ("HtTpS://user:SECRET@host/x", "HtTpS://***@host/x"),
    ("  rtsp://user:SECRET@host/x", "  rtsp://***@host/x"), ("http:user:SECRET@host", "http:***@host"),
    ("rtsp:/user:SECRET@host", "rtsp:/***@host"), ("rtsp:///user:SECRET@host", "rtsp:///***@host"),
    ("htp://user:SECRET@host/x", "htp://***@host/x"), ("rtsp://user:SECRET", "rtsp://user:***"),
    ("://user:SECRET@host/x", "://***@host/x"), ("user:SECRET@host/live", "***@host/live"),
    ("user:5EC@SECRET@host/live", "***@host/live"),
    ("/etc/glpreview/user:SECRET@host/live", "/etc/glpreview/***@host/live"),
    ("http://proxy/http://user:SECRET@host/", "http://***@host/"),
    ("http://[::1:SECRET@host", "http://***@host"),
    // A mark that combines with a sign does not hide the sign.
    ("http://host/?password=\u{301}SECRET", "http://host/?password=***"),
    ("http://user:SECRET@\u{200D}host/x", "http://***@host/x"),
    ("http:/\u{338}/user:SECRET@host/x", "http://***@host/x"),
    // Queries and fragments.
    ("http://host/snap?user=SECRET&pwd=SECRET&channel=1", "http://host/snap?user=***&pwd=***&channel=1"),
    ("http://host/snap?ToKeN=SECRET;sid=5EC", "http://host/snap?ToKeN=***;sid=***"),
    ("http://host/?t%6Fken=SECRET", "http://host/?t%6Fken=***"), ("http://host/?SECRET", "http://host/?***"),
    ("http://host/?SECRET==", "http://host/?***"), ("http://host/?a=5EC=SECRET", "http://host/?a=***"),
    ("http://host/?channel=SECRET/SECRETSECRETSECRET", "http://host/?channel=***"),
    ("http://host/#SECRET", "http://host/#***"), ("http://host/#token=SECRET", "http://host/#token=***"),
    ("http://host/?next=http://user:SECRET@other/?key=SECRET", "http://***@other/?key=***"),
    ("host/live?password=SECRET", "host/live?password=***"),
    // Streams.
    ("rtmp://host/app/SECRET", "rtmp://host/app/***"),
    ("rtmps://host:443/app/room/SECRET?k=5EC", "rtmps://host:443/app/***?k=***"),
    ("RTMP://user:SECRET@host/app/SECRET", "RTMP://***@host/app/***"),
    (
      "srt://host:1?mode=caller&passphrase=SECRET&streamid=#!::u=SECRET,r=5EC",
      "srt://host:1?mode=caller&passphrase=***&***#!::u=***"
    ),
    (
      "rtsp://host/user=SECRET_password=5EC_SECRET_channel=1_stream=0.sdp",
      "rtsp://host/user=***_password=***_channel=1_stream=0.sdp"
    ),
    ("rtsp://host/live;token=SECRET/track", "rtsp://host/live;token=***/track"),
    // Commands.
    ("exec:ffmpeg", "exec:ffmpeg"), ("exec:ffmpeg -i rtsp://user:SECRET@host -", "exec:ffmpeg ..."),
    ("EXEC:/usr/bin/curl\t-u user:SECRET", "exec:/usr/bin/curl ..."),
    ("exec:KEY=SECRET cam -x", "exec:cam ..."),
    ("exec:KEY=SECRET", "exec:..."), ("exec:(SECRET)", "exec:..."),
    ("exec:http://user:SECRET@host", "exec:http ..."),
    ("exec: 'my cam' SECRET", "exec:..."), ("exec:", "exec:"),
  ]

  @Test("a source is shown without its secrets, and redacting it again changes nothing", arguments: sources)
  func shown(text: String, shown: String) {
    #expect(Redaction.source(text) == shown)
    #expect(Redaction.source(shown) == shown)
    #expect(SourceLocator(text).description == shown)
    #expect(!shown.contains("SECRET") && !shown.contains("5EC"))
  }

  @Test("an error shows its source without secrets", arguments: sources)
  func errors(text: String, shown: String) {
    let error = SourceError(.badRequest, path: text, reason: "is not what it was: \(shown)")
    #expect(error.path == shown)
    #expect(!"\(error)".contains("SECRET") && !"\(error)".contains("5EC"))
  }

  @Test(
    "a message is redacted only in the addresses that it contains",
    arguments: [
      ("nothing to hide: a@b:c, http and ://", "nothing to hide: a@b:c, http and ://"),
      (
        "redirects to http://u:SECRET@h/x?k=SECRET, and stays", "redirects to http://***@h/x?k=***, and stays"
      ),
      ("(rtsp://u:SECRET@h/x)", "(rtsp://***@h/x)"), ("a \"http://SECRET@h\" b", "a \"http://***@h\" b"),
      (
        "proxy=http://u:SECRET@proxy:3128 http://h/?token=SECRET",
        "proxy=http://***@proxy:3128 http://h/?token=***"
      ),
      (
        "is no origin, as https://home.example:8443, without a path",
        "is no origin, as https://home.example:8443, without a path"
      ),
      (
        "the server does not speak TLS on this port (http://?)",
        "the server does not speak TLS on this port (http://?)"
      ),
      ("x://", "x://"), ("rtmp://h/app/SECRET: refused", "rtmp://h/app/***: refused"),
    ])
  func messages(text: String, shown: String) {
    #expect(Redaction.message(text) == shown)
    #expect(Redaction.message(shown) == shown)
  }

  @Test("passwords and tokens of an address are hidden wherever a message repeats them")
  func repeated() {
    let secrets = Redaction.secrets(in: "http://ann:5EC%2FSECRET@h/x?token=TOKEN123&channel=1&k=abc")
    #expect(
      Redaction.message("no 5EC/SECRET or 5EC%2FSECRET for ann: TOKEN123, channel 1, abc", hiding: secrets)
        == "no *** or *** for ann: ***, channel 1, abc")
    #expect(Redaction.secrets(in: "/dev/video0").isEmpty)
    #expect(Redaction.secrets(in: "rtsp://host/live?channel=1").isEmpty)
  }

  @Test("random addresses are shown without secrets but with their host")
  func random() {
    var generator = SystemRandomNumberGenerator()
    let signs = Array("@:/?#&=%;, \"'[]\\~.")
    let schemes = ["http", "HTTPS", "rtsp", "rtmp", "srt", "udp", "x+y"]

    for _ in 0..<1000 {
      var password = "SECRET"
      for _ in 0..<Int.random(in: 0...4, using: &generator) {
        password.insert(signs.randomElement(using: &generator) ?? "@", at: password.startIndex)
      }
      let query = Bool.random(using: &generator) ? "?token=SECRET" : ""
      let text =
        "\(schemes.randomElement(using: &generator) ?? "http")://user:\(password)@host:81/path\(query)"

      let shown = Redaction.source(text)
      #expect(!shown.contains("SECRET"), "\(text)")
      #expect(shown.contains("host:81"), "\(text)")
      #expect(Redaction.source(shown) == shown, "\(text)")
    }
  }
}
