// Takes jobs from the queue, processes them, and records their results.
import FoundationEssentials
import GLPreview
import NATS

/// A worker. Any number of workers share a queue.
///
/// A job is delivered at least once. Its result is recorded once, and only then is the job acknowledged. A
/// job with a recorded result is not processed again.
struct Worker: Sendable {
  let name: String
  let queue: JobQueue
  let renderer: JobRenderer
  let sender: PictureSender
  let permissions: JobPermissions
  let concurrency: Int

  /// How long a job that has begun may continue after the worker is stopped.
  private static let stopTimeout = Duration.seconds(15)
  /// The number of deliveries beyond a job's attempts that are allowed for workers that crashed.
  private static let mostCrashes = 15

  /// Works until `isStopping` is true. Jobs that have begun by then are finished, or return to the queue.
  func run(_ isStopping: Watched<Bool>) async throws {
    let work = Task { try await workAll(isStopping) }
    let stopping = Task {
      _ = try await isStopping.first { $0 ? true : nil }
      try await Task.sleep(for: Self.stopTimeout)
      work.cancel()
    }
    defer { stopping.cancel() }
    do {
      try await withTaskCancellationHandler {
        try await work.value
      } onCancel: {
        work.cancel()
      }
    } catch let error where isStopping.value && error is CancellationError {}
  }

  private func workAll(_ isStopping: Watched<Bool>) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      for _ in 0..<concurrency { group.addTask { try await work(isStopping) } }
    }
  }

  /// Processes one job after another.
  private func work(_ isStopping: Watched<Bool>) async throws {
    var consumer: PullConsumer?
    while !isStopping.value {
      do {
        guard let current = consumer else {
          try await queue.prepare()
          consumer = try await queue.consumer()
          continue
        }
        // A short wait, so that the worker notices soon when it is to stop.
        for message in try await current.fetch(1, wait: .seconds(1)) {
          if isStopping.value { try message.reject() } else { try await take(message) }
        }
      } catch let error as JetStreamError {
        guard error.isWorthWaiting, !isStopping.value else {
          if isStopping.value { return }
          throw error
        }
        if case .unavailable = error {} else { consumer = nil }
        try await Task.sleep(for: .milliseconds(500))
      }
    }
  }

  /// Processes a job, and regularly reports to the queue that it is in progress.
  private func take(_ message: JetStreamMessage) async throws {
    let progress = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: JobQueue.redeliveredAfter / 4)
        try? message.inProgress()
      }
    }
    defer { progress.cancel() }
    do {
      try await finish(message)
    } catch is CancellationError {
      try? message.reject()
      throw CancellationError()
    }
  }

  private func finish(_ message: JetStreamMessage) async throws {
    let job: Job
    do throws(JobFailure) {
      job = try Job(parsing: message.message.payload)
    } catch {
      return try await refuse(message, because: error)
    }
    // The job was done by a worker that could not acknowledge it, or it was submitted again.
    guard try await queue.retrying({ try await queue.results.get(job.key, from: .leader) }) == nil else {
      return try message.acknowledge()
    }
    let outcome = try await outcome(of: job, message)
    if case .failure(let failure) = outcome {
      let attempts = job.attempts ?? Job.defaultAttempts
      if failure.isTemporary, message.deliveries < attempts {
        return try message.reject(retryAfter: Self.pause(after: message.deliveries))
      }
      let reason = failure.isTemporary ? "\(failure), \(message.deliveries) times" : failure.description
      try await queue.bury(message.message.payload, key: job.key, batch: job.batch, because: reason)
      StandardError.print("glpreview: job \(job.key): \(failure)")
    }
    let result = JobResult(of: job, outcome, by: name, deliveries: message.deliveries)
    try await record(Array(result.jsonLine().utf8), as: job.key)
    try message.acknowledge()
  }

  private func outcome(
    of job: Job, _ message: JetStreamMessage
  ) async throws -> Result<[JobResult.Picture], JobFailure> {
    guard message.deliveries <= (job.attempts ?? Job.defaultAttempts) + Self.mostCrashes else {
      return .failure(
        JobFailure("was delivered \(message.deliveries - 1) times, and no worker has finished it"))
    }
    do {
      let options = try job.options()
      let views = try options.viewOptions.views()
      let destination = try JobDestination(job, options, views: views, prefix: queue.prefix)
      try sender.check(destination, views)
      let names = destination.names(views)
      var pictures: [JobResult.Picture] = []
      try await renderer.render(job, options, as: destination.format, permissions) { picture, view in
        pictures.append(
          try await sender.send(picture, of: job, views[view].name, to: names[view], destination))
      }
      try await sender.finish(destination)
      return .success(pictures)
    } catch {
      if Task.isCancelled { throw CancellationError() }
      return .failure(JobFailure(error))
    }
  }

  /// Abandons a message that is not a valid job.
  private func refuse(_ message: JetStreamMessage, because failure: JobFailure) async throws {
    StandardError.print("glpreview: a job without a description: \(failure)")
    let words = (message.message.headers["Nats-Msg-Id"] ?? "").split(
      separator: ".", omittingEmptySubsequences: false)
    let names = words.map(String.init)
    let hasName = names.count == 2 && names.allSatisfy { Job.isName($0) }
    let batch = message.message.subject.split(separator: ".").last.map(String.init) ?? ""
    try await queue.bury(
      message.message.payload, key: hasName ? names.joined(separator: ".") : nil,
      batch: Job.isName(batch) ? batch : "unknown", because: failure.description)
    if hasName {
      let job = Job(id: names[1], batch: names[0], source: "?", to: "?")
      let result = JobResult(of: job, .failure(failure), by: name, deliveries: message.deliveries)
      try await record(Array(result.jsonLine().utf8), as: job.key)
    }
    try message.acknowledge()
  }

  /// Records a result, unless there is one already.
  private func record(_ bytes: [UInt8], as key: String) async throws {
    try await queue.retrying {
      do { try await queue.results.create(key, bytes) } catch JetStreamError.conflict {}
    }
  }

  /// Returns the pause before the next attempt: one second, doubled for each delivery, at most half a minute.
  /// Jitter spreads the requests to a server that comes back.
  static func pause(after deliveries: Int, jitter: Double = .random(in: 0.5...1)) -> Duration {
    .seconds(min(30, Double(1 << min(deliveries - 1, 10))) * jitter)
  }
}

extension JetStreamError {
  /// Whether a worker keeps trying: servers restart, elect leaders, and are set up again.
  fileprivate var isWorthWaiting: Bool {
    switch self {
    case .consumerNotFound, .streamNotFound: true
    case .refused(409, _, _): true
    default: mayPass
    }
  }
}
