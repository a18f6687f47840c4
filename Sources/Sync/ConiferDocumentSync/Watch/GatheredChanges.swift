import ConiferDocument
import ConiferWire

/// What a snapshot changes for the targets that count.
struct GatheredChanges {
  private var targets: [(id: TargetID, state: Int, isLimbo: Bool, change: TargetChange?)] = []
  private var places: [TargetID: Int] = [:]
  /// The target that was looked up last: most documents follow another one of the same.
  private var last: (id: TargetID, place: Int?)?

  /// By target, of those that the snapshot names.
  var changes: [TargetID: TargetChange] {
    var changes: [TargetID: TargetChange] = [:]
    for target in targets { changes[target.id] = target.change }
    return changes
  }

  mutating func add(_ id: TargetID, state: Int, isLimbo: Bool, _ change: TargetChange?) {
    places[id] = targets.count
    targets.append((id, state, isLimbo, change))
  }

  /// Takes in what was said of a document; they come in the order of their paths.
  ///
  /// - Returns: whether only limbo asked for it.
  mutating func take(_ entry: PendingWatchDocuments.Entry) -> Bool {
    var isLimboAlone = true
    entry.forEach { note in
      if last?.id != note.target { last = (note.target, places[note.target]) }
      guard let place = last?.place else { return }
      if !targets[place].isLimbo { isLimboAlone = false }
      guard note.state == targets[place].state, let change = note.change else { return }
      switch change {
      case .added: targets[place].change?.added.append(entry.path)
      case .modified: targets[place].change?.modified.append(entry.path)
      case .removed: targets[place].change?.removed.append(entry.path)
      }
    }
    return isLimboAlone
  }
}
