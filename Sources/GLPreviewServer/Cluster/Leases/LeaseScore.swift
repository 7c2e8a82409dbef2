// Decides which node takes a camera without communication between nodes.
internal import Glibc

/// Rendezvous hashing (Thaler and Ravishankar, 1998), weighted as by Schindelhauer and Schomaker (2005): each
/// node has a score for each camera, and the node with the highest takes it.
enum LeaseScore {
  static func score(of node: String, for camera: String, weight: Int) -> Double {
    // 53 bits, above 0 and below 1.
    let unit = (Double(hash(node, camera) >> 11) + 0.5) / 9_007_199_254_740_992
    return -Double(weight) / log(unit)
  }

  /// FNV-1a, followed by the finalizer of MurmurHash3.
  private static func hash(_ node: String, _ camera: String) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in node.utf8 + [0] + camera.utf8 {
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    hash = (hash ^ hash >> 33) &* 0xff51_afd7_ed55_8ccd
    hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
    return hash ^ hash >> 33
  }
}
