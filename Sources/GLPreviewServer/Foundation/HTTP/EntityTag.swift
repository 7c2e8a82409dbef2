// What a client has of an answer already.
internal import HTTPTypes

extension HTTPFields {
  /// Whether `If-None-Match` has an entity tag: the client has what would be sent (RFC 9110, 13.1.2).
  package func know(_ entityTag: String) -> Bool {
    guard let known = self[.ifNoneMatch] else { return false }
    return known.split(separator: ",").contains { tag in
      let tag = tag.drop { $0 == " " }.prefix { $0 != " " }
      return tag == "*" || tag == entityTag || tag == "W/\(entityTag)"
    }
  }
}
