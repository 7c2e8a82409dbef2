// `glpreview work`: processes the jobs of a queue in NATS until it is stopped.
import ArgumentParser
import FoundationEssentials
import GLPreview
import NATS

struct WorkCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "work",
    abstract: "Render the jobs that `glpreview submit` puts into a queue in NATS.",
    discussion: """
      Any number of workers share a queue. Each job is done at least once, and its pictures are complete or absent. A worker \
      that dies leaves its jobs to other workers.

      Jobs come from the network, so a worker does nothing that these options do not permit: it reads files below --sources \
      and from the hosts of --get-from, and writes below --folder and to the hosts of --put-to.

      SIGTERM and SIGINT stop it: jobs that have begun are finished. If the NATS server is lost, it reconnects.

      Examples:
        glpreview work --nats nats://queue:4222 --sources /srv/photos --folder /srv/thumbnails
        glpreview work --nats nats://queue:4222 --get-from cams.local --put-to objects.local:9000

      Exit status: 0 stopped by a signal, 64 wrong usage, 69 no usable device, or NATS rejects the credentials.
      """)

  @OptionGroup(title: "NATS") var natsOptions: NATSOptions

  @Option(help: ArgumentHelp("Write pictures below this folder.", valueName: "FOLDER"))
  var folder: String?

  @Option(help: ArgumentHelp("Read files below this folder.", valueName: "FOLDER"))
  var sources: String?

  @Option(
    help: ArgumentHelp(
      "Read sources from this host over HTTP and HTTPS; any permits every host. Repeatable.",
      valueName: "HOST[:PORT]"))
  var getFrom: [String] = []

  @Option(
    help: ArgumentHelp("PUT pictures to this host over HTTP and HTTPS. Repeatable.", valueName: "HOST[:PORT]")
  )
  var putTo: [String] = []

  @Option(help: ArgumentHelp("Maximum number of concurrent jobs (default: one per core).", valueName: "N"))
  var concurrency: Int?

  @Option(
    help: ArgumentHelp(
      "Reject sources and pictures with more than N million pixels, whatever jobs say.", valueName: "N"))
  var maxMegapixels = 100.0

  @Option(
    help: ArgumentHelp(
      "Reject jobs whose pictures have more than N million pixels together (default: ten times --max-megapixels).",
      valueName: "N"))
  var maxJobMegapixels: Double?

  @Option(
    help: ArgumentHelp(
      "Maximum memory for frames and pictures, in MiB. A job that needs more fails.", valueName: "N"))
  var memory = 1024

  @Option(
    help: ArgumentHelp(
      "Timeout of rendering a job, and of each PUT of a picture, in seconds.", valueName: "SECONDS"))
  var timeout = 60.0

  @Option(help: ArgumentHelp("This worker's name in results (default: the host's name).", valueName: "NAME"))
  var name: String?

  @OptionGroup(title: "Device options") var deviceOptions: DeviceOptions
  @OptionGroup(title: "Device options") var jpegOptions: JPEGOptions

  @Option(
    help: ArgumentHelp("gpu, or reference: a slow, exact renderer on the CPU.", valueName: "gpu|reference"))
  var renderer = RendererChoice.gpu

  @Flag(help: "Do not report connections.")
  var quiet = false

  func validate() throws {
    guard (1...1024).contains(concurrency ?? 1) else {
      throw ValidationError("--concurrency \(concurrency ?? 0) is not within 1...1024")
    }
    guard (0.000001...1_000_000).contains(maxMegapixels),
      (0.000001...1_000_000).contains(maxJobMegapixels ?? 1), (1...1_000_000).contains(memory),
      (0.001...86400).contains(timeout)
    else {
      throw ValidationError(
        "--max-megapixels, --max-job-megapixels, --memory or --timeout is out of range")
    }
    guard !putTo.contains("any") else { throw ValidationError("--put-to names hosts; it does not take any") }
    if folder == nil, putTo.isEmpty, sources == nil, getFrom.isEmpty {
      throw ValidationError("a worker without --folder, --sources, --get-from and --put-to permits no job")
    }
  }

  func run() async throws {
    try await ExitStatus.of {
      let permissions = try permissions()
      let configuration = try natsOptions.configuration(.retried)
      try await Interruption.stopping { isStopping in try await work(permissions, configuration, isStopping) }
    }
  }

  private func work(
    _ permissions: JobPermissions, _ configuration: NATSConfiguration, _ isStopping: Watched<Bool>
  ) async throws {
    GPUDevice.prepareEnvironment(toDraw: [])
    jpegOptions.apply()
    let concurrency = concurrency ?? ProcessInfo.processInfo.activeProcessorCount
    let jobRenderer = JobRenderer(
      renderer, deviceOptions.gpu, budget: MemoryBudget(capacity: memory << 20), concurrency: concurrency)
    try await jobRenderer.open()
    let client = try await NATSClient.connect(configuration, logger: .silent)
    let reporting = Task { [quiet] in await Self.report(client.events(), isQuiet: quiet) }
    defer { reporting.cancel() }
    let sender = PictureSender(permissions, client)
    let host = SystemFiles.line("/proc/sys/kernel/hostname") ?? "worker"
    let worker = Worker(
      name: name ?? host, queue: try natsOptions.queue(client), renderer: jobRenderer, sender: sender,
      permissions: permissions, concurrency: concurrency)
    let result: Result<Void, any Error>
    do {
      result = .success(try await worker.run(isStopping))
    } catch {
      // The reason why the client ended is more informative than the error that it is closed.
      if case .closed(let reason) = client.currentState, reason != .closed {
        result = .failure(reason)
      } else {
        result = .failure(error)
      }
    }
    // Sends pending acknowledgements.
    try? await client.flush(timeout: .seconds(2))
    await sender.close()
    await client.close()
    try result.get()
  }

  private static func report(_ events: AsyncStream<NATSEvent>, isQuiet: Bool) async {
    for await event in events where !isQuiet {
      switch event {
      case .connected(let server): StandardError.print("glpreview: connected to \(server)")
      case .disconnected(let reason): StandardError.print("glpreview: connection lost: \(reason)")
      case .permissionViolation(let text): StandardError.print("glpreview: not permitted: \(text)")
      default: break
      }
    }
  }

  private func permissions() throws -> JobPermissions {
    JobPermissions(
      sources: try sources.map { try Self.root($0, "--sources") },
      folder: try folder.map { try Self.root($0, "--folder") }, readable: HostList(getFrom),
      writable: HostList(putTo), maximumPixels: Int(maxMegapixels * 1_000_000),
      maximumPixelsOfJob: Int((maxJobMegapixels ?? 10 * maxMegapixels) * 1_000_000), limit: .seconds(timeout))
  }

  private static func root(_ path: String, _ option: String) throws -> RootFolder {
    guard let root = RootFolder(path) else { throw UsageError("\(option) \(path) is not a folder") }
    return root
  }
}
