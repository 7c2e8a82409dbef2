// What may be shown of a view, and until when.
internal import HTTPTypes

/// A view as it was looked up, and what is shown of it. `Grants` of it end with a change of what is served (`CameraRegistry`).
package struct ViewRight: Sendable {
  package enum Terms: Sendable {
    /// Whatever the view shows.
    case asServed
    /// The view with a client's parameters, until it is locked.
    case withParameters
    /// A copy in another size, which follows no change of the view.
    case copied
    /// A picture that was drawn like this.
    case drawn(ViewConfiguration)
    /// Pictures of a time, drawn like this, while the view is what it was.
    case kept(ViewConfiguration)
  }

  package let target: ServedPreview
  let terms: Terms

  package init(_ target: ServedPreview, _ terms: Terms) { (self.target, self.terms) = (target, terms) }

  /// The right to a view as it is served, or to what parameters make of it.
  package init(_ target: ServedPreview, isServed: Bool) {
    self.init(target, isServed ? .asServed : .withParameters)
  }

  fileprivate func allows(_ now: ServedView) -> Bool {
    let before = target.served
    return switch terms {
    case .asServed: true
    case .withParameters: !now.isLocked
    case .copied:
      now.view == before.view && now.isLocked == before.isLocked && now.updateEvery == before.updateEvery
    case .drawn(let view): !now.isLocked || now.view == view
    case .kept(let view): now.view == before.view && (!now.isLocked || now.view == view)
    }
  }
}

extension ServedState {
  /// - Throws: `Problem` if what the right is for may not be shown: 409 if the view is switched off, 503 if it was replaced, changed
  ///   or locked since it was looked up.
  func check(_ right: ViewRight) throws(Problem) {
    let target = right.target
    if let guest = target.guest {
      if guest.isOver { throw .reconfigured(target) }
      return
    }
    guard let now = try? view(target.name, of: target.camera), now.preview === target.preview else {
      throw .reconfigured(target)
    }
    guard now.served.isEnabled else { throw .switchedOff(target) }
    guard right.allows(now.served) else { throw .reconfigured(target) }
  }
}
