// Entity tags of answers that a client already has.
internal import HTTPTypes

extension HTTPFields {
  /// Returns whether `If-None-Match` contains `entityTag`, so that the client already has the answer (RFC
  /// 9110, 13.1.2).
  package func hasCached(_ entityTag: String) -> Bool {
    guard let known = self[.ifNoneMatch] else { return false }
    return known.split(separator: ",").contains { tag in
      let tag = tag.drop { $0 == " " }.prefix { $0 != " " }
      return tag == "*" || tag == entityTag || tag == "W/\(entityTag)"
    }
  }
}
