import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

extension Verifier {
  /// Checks that each overlay is the effect of its lane's waiting writes on its document, and that
  /// none is missing.
  func checkOverlays() throws(StoreError) {
    var stored: [Lane: [DocumentPath: Space]] = [:]
    for space in [Spaces.overlays, Spaces.earlierOverlays] {
      try scan(space) { (key, value) throws(StoreError) in
        guard let info = trees[StoreKey.tree(key)], info.order == .documents,
          let lane = RecordRepair.lane(key, info)
        else { throw Damage.error(space, key) }
        let overlay = try OverlayRows.overlay(.init(space: space, key: key, value: value))
        guard OverlayRows(view: snapshot, lane: lane).key(space, overlay.path) == key else {
          throw Damage.error(space, key)
        }
        guard stored[lane]?[overlay.path] == nil else {
          return found(.orphan, space, key, "a newer row has the overlay of \(overlay.path)")
        }
        stored[lane, default: [:]][overlay.path] = space
        count { $0.overlays += 1 }
      }
    }
    for info in trees.values where info.order == .documents && !damaged.contains(info.id) {
      for lane in try QueueReader.lanes(snapshot, info.id) where !lockedLanes.contains(lane) {
        let paths = stored.removeValue(forKey: lane) ?? [:]
        try compare(lane, info, paths)
      }
    }
    for (lane, paths) in stored
    where !damaged.contains(lane.tree) && !lockedLanes.contains(lane) {
      for (path, space) in paths {
        found(
          .orphan, space, OverlayRows(view: snapshot, lane: lane).key(space, path),
          "no queue has the writes of this overlay")
      }
    }
  }

  private func compare(
    _ lane: Lane, _ info: TreeInfo, _ stored: [DocumentPath: Space]
  ) throws(StoreError) {
    let reader = try QueueReader(snapshot, lane, info.order, snapshot.leaves.codec)
    var batches: [DocumentPath: [MutationBatch]] = [:]
    // Documents with a batch that a later version queued are skipped, since its effect is not known
    // here.
    var unknown: Set<DocumentPath> = []
    var after: WriteID?
    while true {
      let read = try reading(Spaces.queue, reader.prefix) { () throws(StoreError) in
        try reader.window(.unanswered, after: after, limit: 64)
      }
      // A write that cannot be read is a finding of its own.
      guard let entries = read else { return }
      for entry in entries {
        guard let batch = MutationBatch(entry.payload) else {
          unknown.formUnion(entry.payload.touches.compactMap { DocumentKey.document($0) })
          count { $0.unknown += 1 }
          continue
        }
        for (path, part) in batch.parts { batches[path, default: []].append(part) }
      }
      guard let last = entries.last?.id else { break }
      after = last
    }
    let rows = OverlayRows(view: snapshot, lane: lane)
    let documents = DocumentReader(runs: RunReader(view: snapshot, tree: info.id))
    for path in Set(stored.keys).union(batches.keys).subtracting(unknown).sorted() {
      let space = stored[path] ?? Spaces.overlays
      try reading(space, rows.key(space, path)) { () throws(StoreError) in
        let base = try documents.document(path)
        let expected = Overlay(of: batches[path] ?? [], over: base)
        let overlay = try rows.overlay(path)
        if expected?.applied(to: base) == overlay?.applied(to: base) {
          // What the server says next may show a difference.
          guard let expected, let overlay, !overlay.stands(for: expected) else { return }
        }
        let kind: VerificationReport.Finding.Kind =
          overlay == nil ? .missing : expected == nil ? .orphan : .content
        self.found(
          kind, space, rows.key(space, path),
          "the overlay of \(path) is not what the waiting writes of \"\(lane.identity)\" do to it")
      }
    }
  }
}
