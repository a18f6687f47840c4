/// What writes that took place have touched of a document.
struct TouchedFields {
  /// The fields; none once the whole document was.
  private(set) var all: FieldMask? = .empty
  /// Fields that hold a server timestamp upon what the document had before the writes.
  private(set) var stamped: Set<FieldPath> = []
  private(set) var isWritten = false

  /// - Parameter overlay: what was done before; nil for nothing.
  init(_ overlay: Overlay?) {
    guard let overlay else { return }
    isWritten = true
    stamped = overlay.stamped
    switch overlay.effect {
    case .patch(_, let mask): all = mask
    case .set, .delete: all = nil
    }
  }

  mutating func add(_ change: Mutation.Change) {
    switch change {
    case .set(_, let transforms):
      stamped = Set(transforms.times.filter { isUponBase($0) })
      all = nil
    case .delete:
      stamped = []
      all = nil
    case .patch(_, let mask, let transforms):
      let times = Set(transforms.times.filter { isUponBase($0) })
      let others = mask.union(transforms.map(\.field).filter { !times.contains($0) })
      stamped = stamped.filter { !others.overlaps($0) }
      stamped.formUnion(times)
      all = all?.union(mask.paths + transforms.map(\.field))
    case .verify: return
    }
    isWritten = true
  }

  /// Whether a field has what the document had before all writes, or a server timestamp upon that.
  private func isUponBase(_ field: FieldPath) -> Bool {
    if stamped.contains(field) { return true }
    return all.map { !$0.overlaps(field) } ?? false
  }
}

extension [FieldTransform] {
  /// The fields that get the time of the write.
  var times: [FieldPath] { filter { $0.operation == .serverTimestamp }.map(\.field) }
}
