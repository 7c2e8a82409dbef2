import TestSupport
import Testing

@testable import Cluster

@Suite struct LeaseStateTests {
  private static let names = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]

  private func settled(cameras: Int = 64, slots: Int = 16) -> LeaseWorld {
    var world = LeaseWorld(Self.names, cameras: cameras, slots: slots)
    world.pass(.seconds(15))
    world.startCounting()
    return world
  }

  @Test func everyCameraHasOneOwner() {
    let world = settled()

    for camera in world.cameras { #expect(world.owners(of: camera).count == 1, "\(camera)") }
    // Spread by free slots.
    for name in Self.names {
      #expect((4...12).contains(world.nodes[name]?.leases.held.count ?? 0), "\(name)")
    }
  }

  @Test func theLastSlotIsUsed() {
    #expect(settled(cameras: 128).ownerless == 0)
    #expect(settled(cameras: 130).ownerless == 2)
  }

  @Test func camerasOfDeadNodesAreTaken() {
    var world = settled()
    world.kill("n1")
    world.kill("n2")
    world.pass(.seconds(11))

    #expect(world.ownerless == 0)
    #expect(world.longestGap > .seconds(5))
    #expect(world.longestGap <= .seconds(10))
    #expect(world.doubled == .zero)
  }

  @Test func aNodeThatCanNotReachTheStoreGoesOn() {
    var world = settled()
    let own = world.nodes["n3"]?.leases.served ?? []
    world.reach("n3", false)
    world.pass(.seconds(20))

    #expect(world.longestGap == .zero)
    #expect(world.nodes["n3"]?.leases.served == own)
    #expect(world.doubled > .zero)

    world.reach("n3", true)
    world.pass(.seconds(5))

    for camera in world.cameras { #expect(world.owners(of: camera).count == 1, "\(camera)") }
    #expect(world.longestGap == .zero)
  }

  @Test func shortCutsMoveNothing() {
    var world = settled()
    world.reach("n3", false)
    world.pass(.seconds(5))
    world.reach("n3", true)
    world.pass(.seconds(20))

    #expect(world.longestGap == .zero)
    #expect(world.doubled == .zero)
  }

  @Test func aStoreThatStandsStillMovesNothing() {
    for length in [3, 5, 7, 9, 30] {
      var world = settled()
      world.isStoreUp = false
      world.pass(.seconds(length))
      world.isStoreUp = true
      world.pass(.seconds(15))

      #expect(world.longestGap == .zero, "\(length) s")
      #expect(world.doubled == .zero, "\(length) s")
    }
  }

  @Test func aNodeThatWasStoppedTakesNobodyForDead() {
    var world = settled()
    world.nodes["n4"]?.isRunning = false
    world.pass(.seconds(20))
    // The others have taken its cameras; it still has them until it hears of that.
    world.nodes["n4"]?.isRunning = true
    // One long step, as a process has it that was stopped.
    world.nodes["n4"]?.leases.step(.seconds(20))
    world.startCounting()
    world.pass(.seconds(3))

    for camera in world.cameras { #expect(world.owners(of: camera).count == 1, "\(camera)") }
    #expect(world.longestGap == .zero)
  }

  @Test func aNodeThatLeavesLosesNothing() {
    var world = settled()
    world.nodes["n5"]?.leases.leave()
    world.beat("n5")
    world.pass(.seconds(5))

    #expect(world.longestGap == .zero)
    #expect(world.nodes["n5"]?.leases.served == [])
    #expect(world.nodes["n5"]?.leases.hasLeft == true)
  }

  @Test func aNodeThatComesBackGetsItsShare() {
    var world = settled()
    world.kill("n1")
    world.pass(.seconds(15))
    world.start("n1", instance: "again")
    world.startCounting()
    world.pass(.seconds(900))

    #expect(world.longestGap == .zero)
    #expect(world.nodes["n1"]?.leases.held.count ?? 0 >= 6)
  }

  @Test func aNodeThatIsRestartedAtOnceHasItsCamerasAgain() {
    var world = settled()
    let before = Set(world.nodes["n1"]?.leases.held.keys.map { $0 } ?? [])
    world.start("n1", instance: "again")
    world.pass(.seconds(6))

    #expect(Set(world.nodes["n1"]?.leases.held.keys.map { $0 } ?? []) == before)
    #expect(world.longestGap <= .seconds(6))
  }

  @Test func aFullNodeThatIsRestartedHasItsCamerasAgain() {
    var world = LeaseWorld(["n1", "n2"], cameras: 8, slots: 4)
    world.pass(.seconds(10))
    #expect(world.ownerless == 0)
    world.start("n1", slots: 4, instance: "again")
    world.pass(.seconds(6))

    #expect(world.ownerless == 0)
    #expect(world.nodes["n1"]?.leases.held.count == 4)
  }

  @Test func aNodeThatHasLessRoomAfterwardsGivesTheRestAway() {
    var world = LeaseWorld(["n1", "n2"], cameras: 8, slots: 8)
    world.pass(.seconds(10))
    world.start("n1", slots: 1, instance: "again")
    world.pass(.seconds(10))

    #expect(world.ownerless == 0)
    #expect(world.nodes["n1"]?.leases.held.count == 1)
  }

  @Test func aFixedCameraThatMayMoveAfterwardsMoves() {
    var world = LeaseWorld(["n2"], cameras: 4)
    world.start("n1", fixed: ["camera1"])
    world.pass(.seconds(10))
    world.start("n1", instance: "again")
    world.pass(.seconds(10))

    #expect(world.owners(of: "camera1").count == 1)
    #expect(world.stored[.camera("camera1")]?.camera?.fixed == nil)
  }

  @Test func anEmptyStoreIsFilledAgain() {
    var world = settled()
    world.replaceStore()
    world.pass(.seconds(15))

    #expect(world.longestGap == .zero)
    #expect(world.doubled == .zero)
    #expect(world.stored.keys.count { if case .camera = $0 { true } else { false } } == 64)
  }

  @Test func twoProcessesOfOneName() {
    var world = LeaseWorld(["n1", "n2"], cameras: 8)
    world.pass(.seconds(10))
    // Under another key in this world, but with the name of the first.
    world.start("twin")
    var twin = world.nodes["twin"]
    twin?.leases = LeaseState(
      .init(node: "n1", instance: "twin", url: "http://twin", slots: 16, movable: world.cameras))
    twin?.inbox = world.stored.map { ($0.key, $0.value.node, $0.value.camera, $0.value.revision) }
    world.nodes["twin"] = twin
    world.pass(.milliseconds(250))
    world.nodes["twin"]?.leases.reachedStore()
    world.pass(.seconds(20))

    #expect(world.nodes["twin"]?.leases.served == [])
    #expect(world.nodes["twin"]?.leases.hasJoined == false)
    #expect(world.ownerless == 0)
    #expect(world.nodes["n1"]?.leases.hasJoined == true)
    #expect(world.notices.contains { $0.node == "twin" && $0.notice == .nameTaken })
  }

  @Test("a restarted node joins although its store was lost before its old key had expired")
  func lostBeforeJoining() {
    var world = LeaseWorld(["n1", "n2"], cameras: 8)
    world.pass(.seconds(10))
    world.kill("n2")
    world.start("n2", instance: "again")
    world.pass(.milliseconds(250))
    #expect(world.nodes["n2"]?.leases.hasJoined == false)

    world.reach("n2", false)
    world.pass(.seconds(2))
    world.reach("n2", true)
    world.pass(.seconds(20))

    #expect(world.nodes["n2"]?.leases.isCurrent == true && world.nodes["n2"]?.leases.hasJoined == true)
    #expect(world.ownerless == 0)
  }

  @Test("a node whose writes are accepted but not reported reads all keys again until its own is reported")
  func copyThatStandsStill() throws {
    var world = LeaseWorld(["n1", "n2"], cameras: 8)
    world.pass(.seconds(10))
    var leases = try #require(world.nodes["n1"]?.leases)
    var revision = try #require(leases.nodes["n1"]?.revision)
    let held = leases.served
    func pass(_ beats: Int) {
      for _ in 0..<beats {
        guard let write = leases.nodeWrite() else { return }
        revision += 1
        leases.wroteNode(write.record, revision: revision)
        for _ in 0..<4 { leases.step(leases.times.beat / 4) }
      }
    }

    pass(3)
    #expect(!leases.isCurrent && leases.readings == 0)
    pass(3)
    #expect(leases.readings == 1)
    // What is read again is old, too.
    leases.readAll()
    #expect(!leases.isCurrent)
    pass(6)
    #expect(leases.readings > 2)

    let own = try #require(leases.nodes["n1"]?.record)
    leases.receivedNode("n1", own, revision: revision)
    #expect(leases.isCurrent && leases.served == held)
  }

  @Test(
    "a node that joins by a copy that stands still takes nothing before it hears its own key",
    arguments: [true, false])
  func joiningByCopyThatStandsStill(isHeard: Bool) throws {
    let world = LeaseWorld(["n1", "n2"], cameras: 4)
    var leases = try #require(world.nodes["n2"]?.leases)
    let other = NodeRecord(instance: "other", url: "http://other", slots: 16, leaving: false)
    leases.receivedNode("n1", other, revision: 1)
    for (index, camera) in world.cameras.enumerated() {
      leases.receivedCamera(
        camera, CameraRecord(node: "n1", instance: "other", epoch: 1), revision: UInt64(index + 2))
    }
    leases.readAll()
    var (revision, taken) = (UInt64(100), 0)
    for _ in 0..<10 {
      let node = leases.nodeWrite()
      let write = try #require(node)
      revision += 1
      leases.wroteNode(write.record, revision: revision)
      if isHeard { leases.receivedNode("n2", write.record, revision: revision) }
      for _ in 0..<4 {
        leases.step(leases.times.beat / 4)
        for write in leases.decide() {
          taken += 1
          revision += 1
          leases.wrote(write, revision: revision)
        }
      }
    }
    // The other node is silent in both. It is dead only where the copy is alive.
    #expect(taken == (isHeard ? world.cameras.count : 0))
  }

  @Test("a node that another process has displaced hears the store again after it was lost")
  func lostAfterDisplacement() throws {
    var world = LeaseWorld(["n1"], cameras: 2)
    world.pass(.seconds(10))
    let twin = NodeRecord(instance: "twin", url: "http://twin", slots: 16, leaving: false)
    let revision = try #require(world.nodes["n1"]?.leases.nodes["n1"]?.revision)

    world.nodes["n1"]?.leases.receivedNode("n1", twin, revision: revision + 1)
    #expect(world.nodes["n1"]?.leases.hasJoined == false && world.nodes["n1"]?.leases.readings == 0)
    world.nodes["n1"]?.leases.lostStore()
    #expect(world.nodes["n1"]?.leases.readings == 1)

    // Displaced while the store was lost, too.
    var leases = try #require(LeaseWorld(["n1"], cameras: 2).nodes["n1"]?.leases)
    leases.reachedStore()
    leases.wroteNode(
      NodeRecord(instance: leases.identity.instance, url: "", slots: 1, leaving: false), revision: 1)
    leases.lostStore()
    #expect(leases.readings == 0)
    leases.receivedNode("n1", twin, revision: 2)
    #expect(leases.readings == 1)
  }

  @Test func whatAnotherProcessOfTheNameHasTakenIsGivenUp() {
    var world = LeaseWorld(["n1"], cameras: 2)
    world.pass(.seconds(10))
    var leases = world.nodes["n1"]?.leases
    let epoch = leases?.held["camera1"] ?? 0
    leases?.receivedCamera(
      "camera1", CameraRecord(node: "n1", instance: "twin", epoch: epoch + 1), revision: 1000)

    #expect(epoch > 0)
    #expect(leases?.held["camera1"] == nil)
    #expect(leases?.held["camera2"] != nil)
  }

  @Test func withoutAStoreAllIsServed() {
    var world = LeaseWorld([], cameras: 8)
    world.isStoreUp = false
    world.start("n1")
    world.start("n2")
    world.pass(.seconds(10))

    #expect(world.nodes["n1"]?.leases.served == world.cameras)
    #expect(world.nodes["n2"]?.leases.served == world.cameras)

    world.isStoreUp = true
    for name in ["n1", "n2"] { world.nodes[name]?.leases.reachedStore() }
    world.pass(.seconds(15))

    for camera in world.cameras { #expect(world.owners(of: camera).count == 1, "\(camera)") }
    #expect(world.longestGap <= .seconds(10))
  }

  @Test func fixedCamerasStay() {
    var world = LeaseWorld(["n1", "n2", "n3"], cameras: 6)
    world.start("n1", fixed: ["camera1"])
    world.pass(.seconds(10))
    let record = world.stored[.camera("camera1")]?.camera

    #expect(record?.node == "n1")
    #expect(record?.fixed == true)
    #expect(world.nodes["n2"]?.leases.held["camera1"] == nil)
    #expect(world.nodes["n3"]?.leases.held["camera1"] == nil)
  }

  @Test func camerasThatTheConfigurationLosesAreReleased() {
    var world = LeaseWorld(["n1"], cameras: 4)
    world.pass(.seconds(10))
    guard var identity = world.nodes["n1"]?.leases.identity else { return }
    identity.movable.remove("camera2")
    world.nodes["n1"]?.leases.updateIdentity(identity)
    world.pass(.seconds(2))

    #expect(world.owners(of: "camera2") == [])
    #expect(world.stored[.camera("camera2")]?.camera?.node == "")
    #expect(world.nodes["n1"]?.leases.held.count == 3)
  }

  /// Any order of faults, as long as two nodes stay: all cameras have one owner in the end, and no epoch two.
  @Test(arguments: 1...12) func anyFaults(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var world = settled(cameras: 32, slots: 32)
    for _ in 0..<12 {
      let name = Self.names.randomElement(using: &random) ?? "n1"
      switch Int.random(in: 0..<6, using: &random) {
      case 0 where world.nodes.count > 2: world.kill(name)
      case 1: world.reach(name, Bool.random(using: &random))
      case 2 where world.nodes[name] == nil: world.start(name, slots: 32)
      case 3:
        world.isStoreUp.toggle()
      case 4:
        world.nodes[name]?.isRunning.toggle()
      default: break
      }
      world.pass(.milliseconds(Int.random(in: 1...60, using: &random) * 250))
    }
    world.isStoreUp = true
    for name in world.nodes.keys {
      world.reach(name, true)
      world.nodes[name]?.isRunning = true
    }
    world.pass(.seconds(40))

    for camera in world.cameras {
      #expect(world.owners(of: camera).count == 1, "\(camera) of \(world.nodes.keys.sorted())")
    }
  }
}
