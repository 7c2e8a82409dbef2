// The dashboard's files, embedded in the binary.
internal import CWeb
internal import HTTPTypes
package import Hummingbird
internal import NIOCore

/// A file of Resources/web. It is served without authentication, because the page itself contains no data.
package struct WebFile: Sendable {
  package let path: String
  let mediaType: String
  /// The file's bytes, shared by all answers.
  let content: ByteBuffer
  /// A hash of the bytes, in quotation marks.
  let entityTag: String

  /// The dashboard's files: the page at `/`, and the files that it loads.
  package static let all: [WebFile] = unsafe [
    WebFile("/", html, glp_index_html),
    WebFile("/dashboard.css", css, glp_dashboard_css),
    WebFile("/dashboard/theme.js", script, glp_theme_js),
    WebFile("/dashboard.js", script, glp_dashboard_js),
    WebFile("/dashboard/api.js", script, glp_api_js),
    WebFile("/dashboard/words.js", script, glp_words_js),
    WebFile("/dashboard/stream.js", script, glp_stream_js),
    WebFile("/dashboard/video.js", script, glp_video_js),
    WebFile("/dashboard/webrtc.js", script, glp_webrtc_js),
    WebFile("/dashboard/tiles.js", script, glp_tiles_js),
    WebFile("/dashboard/detail.js", script, glp_detail_js),
    WebFile("/dashboard/crop.js", script, glp_crop_js),
    WebFile("/dashboard/lens.js", script, glp_lens_js),
    WebFile("/dashboard/moves.js", script, glp_moves_js),
    WebFile("/dashboard/turn.js", script, glp_turn_js),
    WebFile("/dashboard/outlines.js", script, glp_outlines_js),
    WebFile("/dashboard/snapshots.js", script, glp_snapshots_js),
    WebFile("/dashboard/links.js", script, glp_links_js),
    WebFile("/dashboard/recordings.js", script, glp_recordings_js),
    WebFile("/dashboard/timeline.js", script, glp_timeline_js),
    WebFile("/dashboard/storyboard.js", script, glp_storyboard_js),
    WebFile("/dashboard/save.js", script, glp_save_js),
    WebFile("/dashboard/schedules.js", script, glp_schedules_js),
    WebFile("/dashboard/motion.js", script, glp_motion_js),
  ]

  private static let html = "text/html; charset=utf-8"
  private static let css = "text/css; charset=utf-8"
  private static let script = "text/javascript; charset=utf-8"

  private init(_ path: String, _ mediaType: String, _ file: glp_web_file) {
    let bytes = unsafe UnsafeRawBufferPointer(start: file.bytes, count: file.length)
    self.path = path
    self.mediaType = mediaType
    content = unsafe ByteBuffer(bytes: bytes)
    entityTag = unsafe "\"\(String(WebFile.fingerprint(bytes), radix: 16))\""
  }

  /// Returns the FNV-1a hash. It distinguishes versions, but is not cryptographic.
  private static func fingerprint(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    unsafe bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  /// Returns 304 if the browser has this version, otherwise the file. Browsers revalidate each time, so that
  /// a new binary takes effect at once.
  package func response(to request: Request) -> Response {
    var fields = HTTPFields()
    fields[.eTag] = entityTag
    fields[.cacheControl] = "no-cache"
    guard request.headers[.ifNoneMatch] != entityTag else {
      return Response(status: .notModified, headers: fields)
    }
    fields[.contentType] = mediaType
    return Response(status: .ok, headers: fields, body: ResponseBody(byteBuffer: content))
  }
}
