/// The fields of a document that writes have changed.
struct TouchedFields {
  /// The fields; nil once the whole document was replaced or deleted.
  private(set) var all: FieldMask? = .empty
  /// Fields with a server timestamp whose previous value is the document's value before all writes.
  private(set) var stamped: Set<FieldPath> = []
  private(set) var isWritten = false

  /// - Parameter overlay: the effect of earlier writes; nil for none.
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

  /// Whether a field still has its value from before all writes, or a server timestamp with that
  /// previous value.
  private func isUponBase(_ field: FieldPath) -> Bool {
    if stamped.contains(field) { return true }
    return all.map { !$0.overlaps(field) } ?? false
  }
}

extension [FieldTransform] {
  /// The fields that get the time of the write.
  var times: [FieldPath] { filter { $0.operation == .serverTimestamp }.map(\.field) }
}
