// The right to show a view, and its revocation.
internal import HTTPTypes

/// A view at the time of its lookup, and the pictures of it to show. Its grants are revoked when a change
/// forbids these (`CameraRegistry`).
package struct ViewRight: Sendable {
  package enum Terms: Sendable {
    /// The view as it is served, with all later changes.
    case asServed
    /// The view with a client's parameters, until the view is locked.
    case withParameters
    /// A copy in another size. It follows moves of the view, and ends with other changes.
    case copied
    /// A picture that was drawn with this configuration.
    case drawn(ViewConfiguration)
    /// Buffered frames, drawn with this configuration, while the view is unchanged, except by moves.
    case buffered(ViewConfiguration)
  }

  package let target: ServedPreview
  let terms: Terms

  package init(_ target: ServedPreview, _ terms: Terms) { (self.target, self.terms) = (target, terms) }

  /// Creates the right to the view as it is served, or to the view with a client's parameters.
  package init(_ target: ServedPreview, isServed: Bool) {
    self.init(target, isServed ? .asServed : .withParameters)
  }

  fileprivate func allows(_ entry: ServedPreview) -> Bool {
    let (before, now) = (target.served, entry.served)
    // A picture of a view that has been moved may show another direction than its configuration.
    let isExact = before.isLocked || entry.moves == 0
    return switch terms {
    case .asServed: true
    case .withParameters: !now.isLocked
    case .copied:
      now.isLocked == before.isLocked && now.updateEvery == before.updateEvery
        && (now.isLocked ? now.view == before.view : now.view.unposed == before.view.unposed)
    case .drawn(let view): !now.isLocked || now.view == view && isExact
    case .buffered(let view):
      now.view.unposed == before.view.unposed && (!now.isLocked || now.view == view && isExact)
    }
  }
}

extension ServedState {
  /// - Throws: `Problem` if the right no longer holds: 409 if the view is switched off, 503 if it was
  ///   replaced, changed or locked since it was looked up.
  func check(_ right: ViewRight) throws(Problem) {
    let target = right.target
    if let remoteView = target.remoteView {
      if remoteView.isOver { throw .reconfigured(target) }
      return
    }
    guard let now = try? view(target.name, of: target.camera), now.preview === target.preview else {
      throw .reconfigured(target)
    }
    guard now.served.isEnabled else { throw .switchedOff(target) }
    guard right.allows(now) else { throw .reconfigured(target) }
  }
}
