// Many nodes of clusters with leases in one process, without cameras, beside real NATS servers: what the store has to do,
// how soon all cameras have owners again after a third of the nodes is gone, and what it costs.
//
//     GLPREVIEW_PROGRAMS=benchmarks swift run -c release cluster-simulation nats://127.0.0.1:4222 --nodes 1000 --cluster 50 --cameras 16
//
// Each cluster has a bucket of its own. All of its nodes can take all of its cameras. `--slower 4` makes all times of the
// leases four times as long, for more nodes than this machine can run: rates are then a quarter of the true ones.
import Cluster
import GLPreview
import Glibc
import Logging
import NATS

@main
enum ClusterSimulation {
  /// A node: its keeper, and the task that it runs in.
  struct Node: Sendable {
    let name: String
    let client: NATSClient
    let keeper: LeaseKeeper
    let task: Task<Void, Never>
  }

  static func main() async throws {
    var words = CommandLine.arguments.dropFirst()[...]
    var (servers, nodes, cluster, cameras, replicas, slower) = ([String](), 1000, 50, 16, 1, 1)
    while let word = words.popFirst() {
      switch word {
      case "--nodes": nodes = words.popFirst().flatMap { Int($0) } ?? nodes
      case "--cluster": cluster = words.popFirst().flatMap { Int($0) } ?? cluster
      case "--cameras": cameras = words.popFirst().flatMap { Int($0) } ?? cameras
      case "--replicas": replicas = words.popFirst().flatMap { Int($0) } ?? replicas
      case "--slower": slower = words.popFirst().flatMap { Int($0) } ?? slower
      default: servers.append(word)
      }
    }
    guard !servers.isEmpty else {
      say("usage: cluster-simulation NATS... [--nodes N] [--cluster N] [--cameras N] [--replicas N] [--slower N]")
      exit(64)
    }
    let clusters = nodes / cluster
    let total = clusters * cluster * cameras
    var all: [[Node]] = []
    let start = ContinuousClock.now
    for number in 0..<clusters {
      all.append(
        try await startCluster(
          number, nodes: cluster, cameras: cameras, replicas: replicas, times(slower: slower), servers))
    }
    say("nodes \(clusters * cluster) in \(clusters) clusters, \(total) cameras; started in \(since(start))")
    await settle(all, total)
    say("all cameras have owners after \(since(start)), memory \(memory()) MB")

    await measure("quiet", all, for: .seconds(20))

    // The third of each cluster that goes without a word.
    var left: [[Node]] = []
    for nodes in all {
      let gone = nodes.prefix(nodes.count / 3)
      for node in gone {
        node.task.cancel()
        await node.client.close()
      }
      left.append(Array(nodes.dropFirst(gone.count)))
    }
    let killed = ContinuousClock.now
    let (before, busy) = (left.flatMap { $0 }.reduce(0) { $0 + $1.keeper.writes }, ProcessorClock.now)
    await settle(left, total)
    let time = seconds(since(killed))
    let writes = left.flatMap { $0 }.reduce(0) { $0 + $1.keeper.writes } - before
    say(
      "a third killed: all cameras have owners again after \(digits(time)) s, \(writes) writes, "
        + "\(digits(seconds(ProcessorClock.now - busy) / time * 100)) % of a core")
    await measure("after it", left, for: .seconds(10))
    say("memory \(memory()) MB")
    exit(0)
  }

  private static func times(slower factor: Int) -> LeaseTimes {
    var times = LeaseTimes()
    times.beat *= factor
    times.dead *= factor
    times.handover *= factor
    times.gathering *= factor
    times.settled *= factor
    return times
  }

  private static func startCluster(
    _ number: Int, nodes: Int, cameras: Int, replicas: Int, _ times: LeaseTimes, _ servers: [String]
  ) async throws -> [Node] {
    let names = Set((0..<nodes * cameras).map { "camera\($0)" })
    var started: [Node] = []
    for index in 0..<nodes {
      let name = "node\(index)"
      var configuration = NATSConfiguration(servers: try servers.map { try NATSServerAddress($0) })
      configuration.requestTimeout = .seconds(10)
      let logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
      let client = try await NATSClient.connect(configuration, logger: logger)
      // A third may go: the rest has room for all.
      let keeper = LeaseKeeper(
        client, bucket: "sim-\(getpid())-\(number)", replicas: replicas,
        .init(
          node: name, instance: "\(number)-\(index)", url: "http://\(name)", slots: cameras * 2,
          movable: names), times: times, logger: logger)
      started.append(Node(name: name, client: client, keeper: keeper, task: Task { await keeper.run() }))
    }
    return started
  }

  /// Waits until every camera is held by exactly one node.
  private static func settle(_ clusters: [[Node]], _ total: Int) async {
    let start = ContinuousClock.now
    var told = start
    while true {
      var (held, once) = (0, 0)
      for nodes in clusters {
        let lists = nodes.flatMap { $0.keeper.view.served.keys.map { $0 } }
        held += lists.count
        once += Set(lists).count
      }
      if once == total, held == total { return }
      if ContinuousClock.now - told > .seconds(5) {
        say("  \(since(start)): \(once) of \(total) have owners, \(held - once) two")
        told = .now
      }
      try? await Task.sleep(for: .milliseconds(100))
    }
  }

  private static func measure(_ word: String, _ clusters: [[Node]], for time: Duration) async {
    let nodes = clusters.flatMap { $0 }
    let (start, busy) = (ContinuousClock.now, ProcessorClock.now)
    let before = nodes.reduce(0) { $0 + $1.keeper.writes }
    try? await Task.sleep(for: time)
    let passed = seconds(ContinuousClock.now - start)
    let writes = nodes.reduce(0) { $0 + $1.keeper.writes } - before
    let cores = seconds(ProcessorClock.now - busy) / passed
    say(
      "\(word): \(digits(Double(writes) / passed)) writes/s to the store, \(digits(cores * 100)) % of a core, "
        + "\(digits(cores * 100 / Double(nodes.count))) % a node")
  }

  /// At once, also into a file.
  private static func say(_ text: String) {
    let line = Array((text + "\n").utf8)
    _ = unsafe line.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
  }

  private static func since(_ start: ContinuousClock.Instant) -> Duration {
    .milliseconds(Int64(seconds(ContinuousClock.now - start) * 1000))
  }

  private static func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }

  private static func digits(_ number: Double) -> Double { (number * 1000).rounded() / 1000 }

  /// The largest resident size so far, in MB.
  private static func memory() -> Int {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss / 1000
  }
}
