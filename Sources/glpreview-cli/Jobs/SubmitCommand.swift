// `glpreview submit`: puts jobs into a queue in NATS, and follows them.
import ArgumentParser
import FoundationEssentials
import GLPreview
import NATS

struct SubmitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "submit",
    abstract: "Queue pictures for `glpreview work`, and wait for them.",
    discussion: """
      SOURCE is a path below the workers' --sources, an http:// or https:// address that they may read, or pattern:NAME. The \
      options for views, input and encoding are those of `glpreview render`; each job renders the first frame of its SOURCE.

      Jobs of one command are a batch. Submitting the same jobs to the same --batch again queues them once. Without SOURCE, \
      --batch follows a batch that was submitted before.

      Examples:
        glpreview submit --nats nats://queue:4222 --list photos.txt --size 320x --to 'small/{name}.jpg'
        glpreview submit --nats nats://queue:4222 http://cams.local/1.jpg --to 'http://objects.local:9000/b/{name}.jpg'
        glpreview submit --nats nats://queue:4222 --batch night

      Exit status: 0 all done, 65 jobs failed, 66 no source could be read, 64 wrong usage, 69 no connection to NATS, \
      130 interrupted; the jobs stay in the queue.
      """)

  @Argument(help: ArgumentHelp("A path, an address or a pattern.", valueName: "SOURCE"))
  var sources: [String] = []

  @Option(
    help: ArgumentHelp(
      "Submit the sources that LIST names, one per line, after the SOURCEs; - is standard input.",
      valueName: "LIST"))
  var list: String?

  @Option(
    help: ArgumentHelp(
      "Where pictures go: a path below the workers' --folder, an address for HTTP PUT, or reply:SUBJECT. {name} (the source's), {index} and {view} are replaced.",
      valueName: "TO"))
  var to = "{name}-{view}.jpg"

  @Option(
    help: ArgumentHelp(
      "The batch's name: letters, digits, '-' and '_' (default: a random one).", valueName: "NAME"))
  var batch: String?

  @OptionGroup(title: "NATS") var natsOptions: NATSOptions
  @OptionGroup var jobOptions: JobOptions

  @Option(
    help: ArgumentHelp(
      "Maximum attempts per job if its source or destination can't be reached.", valueName: "N"))
  var attempts = Job.defaultAttempts

  @Flag(help: "Print the batch's name and do not wait.")
  var detach = false

  @Flag(help: "Print a line of JSON for each job that is done or has failed.")
  var json = false

  @Flag(help: "Show no progress.")
  var quiet = false

  func validate() throws {
    guard (1...100).contains(attempts) else {
      throw ValidationError("--attempts \(attempts) is not within 1...100")
    }
    if let batch, !Job.isName(batch) {
      throw ValidationError("--batch \(batch) is not 1 to 100 letters, digits, '-' and '_'")
    }
    guard !sources.isEmpty || list != nil || batch != nil else {
      throw ValidationError("SOURCE is missing: give a path, an address or a pattern")
    }
  }

  func run() async throws {
    try await ExitStatus.of {
      let batch = batch ?? "b-\(UInt32(Date().timeIntervalSince1970))-\(UInt32.random(in: 0...(.max)))"
      let sources = try sources + (list.map { try SourceList.read($0) } ?? [])
      let jobs = try jobs(of: sources, in: batch)
      let configuration = try natsOptions.configuration(.required)
      try await Interruption.cancelling { try await submit(jobs, batch, configuration) }
    }
  }

  private func submit(_ jobs: [Job], _ batch: String, _ configuration: NATSConfiguration) async throws {
    let client = try await NATSClient.connect(configuration, logger: .silent)
    let result: Result<Void, any Error>
    do {
      let queue = try natsOptions.queue(client)
      try await queue.retrying { try await queue.prepare() }
      let submission = Submission(queue: queue, batch: batch, isQuiet: quiet, reportsJobs: json)
      if detach {
        try await submission.submit(jobs)
        try StandardOutput.print(batch)
      } else {
        if !quiet, !jobs.isEmpty {
          StandardError.print("glpreview: batch \(batch): \(Submission.count(jobs.count))")
        }
        try await submission.submitAndFollow(jobs)
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await client.close()
    try result.get()
  }

  /// Creates the jobs, with the same checks as in a worker.
  private func jobs(of sources: [String], in batch: String) throws -> [Job] {
    let words = jobOptions.words
    let views = try jobOptions.viewOptions.views()
    _ = try (jobOptions.inputOptions.masks(), jobOptions.inputOptions.referenceSize())
    _ = try jobOptions.inputOptions.sourceLens()
    _ = try jobOptions.inputOptions.sourceOptions(for: "")
    var ids: Set<String> = []
    var written: [String: String] = [:]
    var jobs: [Job] = []
    for (index, source) in sources.enumerated() {
      var job = Job(id: "?", batch: batch, source: source, words: words, to: to)
      if attempts != Job.defaultAttempts { job.attempts = attempts }
      if to.contains("{index") { job.index = index + 1 }
      job.id = Digest.name(of: try job.json)
      // A source that is listed twice is a single job.
      guard ids.insert(job.id).inserted else { continue }
      do { try job.check() } catch { throw UsageError("\(source.redactedAddress): \(error)") }
      try Self.checkSource(source)
      let destination = try JobDestination(job, jobOptions, views: views, prefix: natsOptions.prefix)
      if case .replies = destination {
      } else {
        try Self.claim(destination.names(views), for: source, &written)
      }
      jobs.append(job)
    }
    return jobs
  }

  private static func checkSource(_ source: String) throws {
    let isGenerated = SourceLocator(source).kind.origin == .generated
    if isGenerated || JobDestination.isAddress(source) || RootFolder.isRelative(source) { return }
    throw UsageError(
      "\(source.redactedAddress) is not a source of jobs: use a path below the workers' --sources (relative, without '..') or an http address"
    )
  }

  private static func claim(
    _ names: [String], for source: String, _ written: inout [String: String]
  ) throws {
    for name in names {
      if let other = written.updateValue(source, forKey: name) {
        throw UsageError(
          "\(other.redactedAddress) and \(source.redactedAddress) would both go to \(name.redactedAddress); put {name} or {index} into --to"
        )
      }
    }
  }
}
