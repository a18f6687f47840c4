@_spi(Stores) package import ConiferKeyValue

/// A walk over a frozen view with edits laid over it.
package struct MergedWalk {
  package let base: any OrderedView
  package let overlay: SortedBytes<Bytes?>
  /// What of the view is gone.
  package let cleared: ClearedRanges
  package let space: Space

  package func run(_ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step) throws(StoreError) {
    var origin = origin
    while let next = try leg(origin, readsValues: true, { key, value, _ in visit(key, value) }) {
      origin = next
    }
  }

  /// The same for keys and the sizes of their values.
  package func runKeys(_ origin: Origin, _ visit: (RawSpan, Int) -> Step) throws(StoreError) {
    var origin = origin
    while let next = try leg(origin, readsValues: false, { key, _, size in visit(key, size) }) {
      origin = next
    }
  }

  /// Walks until the end, a stop (nil) or a jump (the origin of the next leg).
  ///
  /// - Parameters:
  ///   - readsValues: whether stored values are read; what is lent in their place means nothing
  ///     otherwise.
  ///   - visit: gets a key, its value and the value's size.
  private func leg(
    _ origin: Origin, readsValues: Bool, _ visit: (RawSpan, RawSpan, Int) -> Step
  ) throws(StoreError) -> Origin? {
    let isAscending: Bool
    var edit: SortedBytes<Bytes?>.Position?
    switch origin {
    case .atOrAfter(let key):
      isAscending = true
      edit = overlay.firstAtOrAfter(key)
    case .atOrBefore(let key):
      isAscending = false
      edit = overlay.lastAtOrBefore(key)
    }
    var next: Origin?
    var isOver = false

    /// Visits and says whether this leg goes on.
    func show(_ key: RawSpan, _ value: RawSpan, _ size: Int) -> Bool {
      switch visit(key, value, size) {
      case .next: return true
      case .stop: isOver = true
      case .jump(let target):
        let order = key.compare(target)
        let isAhead = isAscending ? order < 0 : order > 0
        if !isAhead { return true }
        next = isAscending ? .atOrAfter(target) : .atOrBefore(target)
      }
      return false
    }

    /// Visits the edits that come before a stored key; says whether that key is itself edited, or
    /// nil when the leg ended.
    func showEdits(before stored: RawSpan?) -> Bool? {
      while let at = edit {
        let (key, value) = overlay.entry(at: at)
        if let stored {
          let order = stored.compare(key)
          if order == 0 {
            edit = isAscending ? overlay.after(at) : overlay.before(at)
            if let value, !show(key.span.bytes, value.span.bytes, value.count) { return nil }
            return true
          }
          if isAscending ? order < 0 : order > 0 { return false }
        }
        edit = isAscending ? overlay.after(at) : overlay.before(at)
        if let value, !show(key.span.bytes, value.span.bytes, value.count) { return nil }
      }
      return false
    }

    /// Visits a stored key, unless it is edited, after the edits that come before it.
    func merge(_ key: RawSpan, _ value: RawSpan, _ size: Int) -> Step {
      guard let isEdited = showEdits(before: key) else { return .stop }
      if isEdited { return .next }
      if let range = cleared.containing(key) { return .jump(isAscending ? range.to : range.from) }
      return show(key, value, size) ? .next : .stop
    }

    if readsValues {
      try base.walk(space, origin) { key, value in merge(key, value, value.byteCount) }
    } else {
      try base.walkKeys(space, origin) { key, size in merge(key, key, size) }
    }
    if next == nil, !isOver { _ = showEdits(before: nil) }
    return next
  }
}
