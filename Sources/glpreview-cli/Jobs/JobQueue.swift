// The queue of jobs and their results, stored as JetStream streams and a bucket.
import FoundationEssentials
import GLPreview
import NATS

/// The queue of jobs.
///
/// - `PREFIX.jobs.todo.BATCH` has jobs, in the work queue PREFIX_JOBS. A message's id is its job's key.
/// - The bucket `PREFIX-results` has the result of each job, which is created once.
/// - `PREFIX.jobs.dead.BATCH` has abandoned jobs, in the stream PREFIX_DEAD, unchanged and with the header
///   Reason.
struct JobQueue: Sendable {
  let client: NATSClient
  let jetStream: JetStream
  let prefix: String
  private let replicas: Int

  static let consumerName = "workers"
  /// The time without a progress report from a worker after which its job is redelivered to another one.
  static let redeliveredAfter = Duration.seconds(10)
  /// The time within which equal jobs are queued only once.
  private static let duplicateWindow = Duration.seconds(3600)
  private static let resultsAge = Duration.seconds(7 * 86400)

  init(_ client: NATSClient, prefix: String, replicas: Int = 1) throws {
    self.client = client
    (self.prefix, self.replicas) = (prefix, replicas)
    jetStream = try JetStream(client)
  }

  private var bucketName: String { "\(prefix)-results" }
  var jobsStream: String { "\(prefix.uppercased())_JOBS" }
  var deadStream: String { "\(prefix.uppercased())_DEAD" }

  /// The results by the keys of their jobs. `BATCH._` is the batch itself.
  var results: KeyValue {
    get throws { try jetStream.bucket(bucketName) }
  }

  /// Creates missing streams and buckets. Existing ones are not changed, even if their limits differ.
  func prepare() async throws {
    var jobs = StreamConfiguration(name: jobsStream, subjects: ["\(prefix).jobs.todo.*"])
    (jobs.retention, jobs.discard, jobs.replicas) = (.workQueue, .new, replicas)
    (jobs.duplicateWindow, jobs.maximumMessageSize) = (Self.duplicateWindow, Job.mostBytes + 1024)
    try await unlessThere { [jobs] in try await jetStream.createStream(jobs) }

    var dead = StreamConfiguration(name: deadStream, subjects: ["\(prefix).jobs.dead.*"])
    (dead.maximumAge, dead.replicas, dead.duplicateWindow) = (.seconds(30 * 86400), replicas, .seconds(3600))
    try await unlessThere { [dead] in try await jetStream.createStream(dead) }

    var results = KeyValueConfiguration(bucket: bucketName)
    (results.maximumAge, results.replicas) = (Self.resultsAge, replicas)
    try await unlessThere { [results] in _ = try await jetStream.createBucket(results) }
  }

  private func unlessThere(_ create: () async throws -> Void) async throws {
    do { try await create() } catch JetStreamError.nameInUse {}
  }

  /// Returns the consumer that all workers share.
  func consumer() async throws -> PullConsumer {
    var consumer = ConsumerConfiguration(name: Self.consumerName)
    consumer.acknowledgeWithin = Self.redeliveredAfter
    consumer.maximumPending = 10_000
    return try await jetStream.createConsumer(of: jobsStream, consumer)
  }

  /// Queues a job. Returns false if it is queued already, or was within the last hour.
  func submit(_ job: Job) async throws -> Bool {
    let (subject, bytes) = ("\(prefix).jobs.todo.\(job.batch)", try job.json)
    return try await retrying {
      try await !jetStream.publish(subject, bytes, id: job.key).isDuplicate
    }
  }

  /// Stores an abandoned job.
  func bury(_ payload: [UInt8], key: String?, batch: String, because reason: String) async throws {
    let headers: NATSHeaders = ["Reason": String(reason.onOneLine.prefix(1000))]
    _ = try await retrying {
      try await jetStream.publish("\(prefix).jobs.dead.\(batch)", payload, headers: headers, id: key)
    }
  }

  /// Calls JetStream until it succeeds, because servers restart and elect leaders.
  ///
  /// - Throws: permanent errors; `CancellationError`.
  func retrying<Value: Sendable>(_ call: () async throws -> Value) async throws -> Value {
    var pause = Duration.milliseconds(100)
    while true {
      do {
        return try await call()
      } catch let error as JetStreamError where error.mayPass {
        try Task.checkCancellation()
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(2))
      }
    }
  }
}

extension JetStreamError {
  /// Whether the same call may succeed later.
  var mayPass: Bool {
    switch self {
    case .unavailable(.closed), .unavailable(.cancelled), .unavailable(.authentication),
      .unavailable(.permission):
      false
    case .unavailable, .refused(503, _, _): true
    default: false
    }
  }
}

/// The result of a job.
struct JobResult: Codable, Equatable, Sendable {
  enum State: String, Codable, Sendable { case done, failed }

  /// A delivered picture.
  struct Picture: Codable, Equatable, Sendable {
    let name: String
    let width: Int
    let height: Int
    let bytes: Int
  }

  var version = 1
  let id: String
  let batch: String
  let source: String
  let state: State
  /// Why it failed, and the exit status that `render` would have.
  var reason: String?
  var status: Int32?
  var pictures: [Picture] = []
  let worker: String
  /// The number of deliveries to workers.
  let deliveries: Int

  init(
    of job: Job, _ outcome: Result<[Picture], JobFailure>, by worker: String, deliveries: Int
  ) {
    (id, batch, source) = (job.id, job.batch, job.source.redactedAddress)
    (self.worker, self.deliveries) = (worker, deliveries)
    switch outcome {
    case .success(let pictures): (state, self.pictures) = (.done, pictures)
    case .failure(let failure):
      (state, reason, status) = (.failed, failure.description, failure.status)
    }
  }
}

/// A batch, stored under the key `BATCH._`.
struct BatchRecord: Codable, Equatable, Sendable {
  var version = 1
  /// The number of jobs in the last submission.
  let jobs: Int

  static func key(_ batch: String) -> String { "\(batch)._" }
}

extension NATSOptions {
  /// Returns the queue that the options name.
  func queue(_ client: NATSClient) throws -> JobQueue {
    try JobQueue(client, prefix: prefix, replicas: replicas)
  }
}
