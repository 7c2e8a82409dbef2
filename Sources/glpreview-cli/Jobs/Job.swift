// A job as it is stored in the queue: JSON with the parameters of `glpreview render`.
import ArgumentParser
import FoundationEssentials
import GLPreview
import NATS
import Synchronization

/// Pictures to draw from one source. Unknown JSON keys are ignored.
struct Job: Codable, Equatable, Sendable {
  /// The version of the job format.
  static let version = 1
  static let mostBytes = 64 << 10

  var version = Self.version
  /// Unique in its batch; one token of a subject.
  var id: String
  /// The name of the batch that the job belongs to; one token of a subject.
  var batch: String
  /// A path below the worker's folder of sources, or an address.
  var source: String
  /// The value of {index} in names.
  var index: Int?
  /// Options of `glpreview render` for views, input and encoding.
  var words: [String]?
  /// The destination of the pictures (`JobDestination`).
  var to: String
  /// The number of attempts (default: 5).
  var attempts: Int?

  static let defaultAttempts = 5

  /// Parses JSON.
  ///
  /// - Throws: `JobFailure` if it is not a job that this version supports.
  init(parsing bytes: [UInt8]) throws(JobFailure) {
    guard bytes.count <= Self.mostBytes else { throw JobFailure("the job is larger than 64 KiB") }
    do {
      self = try JSONDecoder().decode(Job.self, from: Data(bytes))
    } catch {
      throw JobFailure("the job does not have the expected JSON (docs/jobs.md)")
    }
    try check()
  }

  init(
    id: String, batch: String, source: String, index: Int? = nil, words: [String] = [], to: String,
    attempts: Int? = nil
  ) {
    (self.id, self.batch, self.source, self.index) = (id, batch, source, index)
    (self.words, self.to, self.attempts) = (words, to, attempts)
  }

  /// Returns whether `text` can name a job or a batch, which become tokens of subjects.
  static func isName(_ text: String) -> Bool {
    NATSSubject.isToken(text) && text.utf8.count <= 100 && !text.hasPrefix("_")
  }

  /// Checks the requirements of any job, regardless of its origin.
  func check() throws(JobFailure) {
    guard version == Self.version else {
      throw JobFailure("the job has version \(version); this worker knows \(Self.version)")
    }
    for (key, name) in [("id", id), ("batch", batch)] where !Self.isName(name) {
      throw JobFailure("\(key) is not 1 to 100 letters, digits, '-' and '_', not beginning with '_'")
    }
    guard (1...4096).contains(source.utf8.count), !source.utf8.contains(0) else {
      throw JobFailure("source is empty or longer than 4096 bytes")
    }
    guard (1...4096).contains(to.utf8.count), !to.utf8.contains(0) else {
      throw JobFailure("to is empty or longer than 4096 bytes")
    }
    guard (words ?? []).count <= 256, (1...100).contains(attempts ?? 1),
      (0...1_000_000_000).contains(index ?? 0)
    else { throw JobFailure("words, attempts or index are out of range") }
  }

  /// Parses the options in `words`.
  func options() throws(JobFailure) -> JobOptions { try JobOptions.parsed(words ?? []) }

  /// The key of the job's result.
  var key: String { "\(batch).\(id)" }

  var json: [UInt8] {
    get throws { Array(try jsonLine().utf8) }
  }
}

/// The options of `glpreview render` that jobs support.
struct JobOptions: ParsableArguments {
  @OptionGroup(title: "View options") var viewOptions: ViewOptions
  @OptionGroup(title: "Input options") var inputOptions: InputOptions
  @OptionGroup(title: "Encoding options") var encodingOptions: EncodingOptions

  func validate() throws {
    if let option = encodingOptions.optionOfVideos {
      throw ValidationError("\(option) applies to videos, but jobs make pictures")
    }
  }

  /// Recently parsed options. Parsing takes longer than drawing a small picture, and all jobs of a batch have
  /// the same arguments.
  private static let cache = Mutex<[[String]: JobOptions]>([:])

  /// Parses command-line arguments.
  static func parsed(_ words: [String]) throws(JobFailure) -> JobOptions {
    if let options = cache.withLock({ $0[words] }) { return options }
    do {
      let options = try parse(words)
      cache.withLock { cache in
        if cache.count >= 64 { cache = [:] }
        cache[words] = options
      }
      return options
    } catch {
      // The message for --help and similar options would be pages long.
      guard exitCode(for: error) != .success else {
        throw JobFailure("the words request help or a script, but jobs make pictures")
      }
      throw JobFailure(message(for: error))
    }
  }

  /// The options as command-line arguments.
  var words: [String] { viewOptions.words + inputOptions.words + encodingOptions.words }
}

/// The error of a failed job.
struct JobFailure: Error, CustomStringConvertible {
  let description: String
  /// The exit status that `render` would have.
  let status: Int32
  /// Whether another attempt may succeed.
  let isTemporary: Bool

  /// Creates a failure that no retry can fix.
  init(_ description: String, status: Int32 = ExitStatus.usage) {
    (self.description, self.status, isTemporary) = (description.onOneLine.brief, status, false)
  }

  init(_ description: String, temporary status: Int32) {
    (self.description, self.status, isTemporary) = (description.onOneLine.brief, status, true)
  }

  /// Classifies an error of rendering or delivering.
  init(_ error: any Error) {
    let status = ExitStatus.status(of: error)
    switch error {
    case let failure as JobFailure: self = failure
    case let error as SourceError where error.kind != .unavailable:
      self.init("\(error)", status: status)
    case is UsageError, is ParameterError, is RenderPipeline.Failure:
      self.init("\(error)", status: status)
    default: self.init(Redaction.message("\(error)"), temporary: status)
    }
  }
}
