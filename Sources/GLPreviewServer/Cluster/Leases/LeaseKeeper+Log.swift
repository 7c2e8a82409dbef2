// Log messages about leases.
internal import Logging

extension LeaseKeeper {
  func log(_ notice: LeaseState.Notice) {
    switch notice {
    case .taken(let camera, let epoch):
      logger.notice("camera taken", metadata: ["camera": "\(camera)", "epoch": "\(epoch)"])
    case .released(let camera, let epoch, let reason):
      logger.notice(
        "camera released", metadata: ["camera": "\(camera)", "epoch": "\(epoch)", "reason": "\(reason)"])
    case .yielded(let camera, let epoch, let node):
      logger.notice(
        "camera yielded", metadata: ["camera": "\(camera)", "epoch": "\(epoch)", "to": "\(node)"])
    case .joined(let node): logger.notice("node joined", metadata: ["node": "\(node)"])
    case .lost(let node): logger.warning("node lost", metadata: ["node": "\(node)"])
    case .nameTaken:
      logger.error(
        "another process has this node's name: set cluster.name (no cameras are taken until it has ended)",
        metadata: ["node": "\(identity.node)"])
    case .conflict(let camera, let node):
      logger.warning(
        "two nodes have a camera with the same name: rename one of them",
        metadata: ["camera": "\(camera)", "other": "\(node)"])
    case .ownerless(let camera):
      logger.warning(
        "no node has a free slot for a camera: raise cluster.slots", metadata: ["camera": "\(camera)"])
    case .store(let isThere):
      if isThere { logger.notice("lease store reached") } else { logger.warning("lease store lost") }
    }
  }
}
