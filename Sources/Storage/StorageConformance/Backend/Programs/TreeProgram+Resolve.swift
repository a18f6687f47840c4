internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension TreeProgram.Change {
  /// The edits for a store in the model's state; none when the change does not apply there.
  func edits(_ model: StorageModel, _ trees: [TreeID]) throws(StoreError) -> [StorageEdit] {
    switch self {
    case .overwrite(let tree, let path, let node): return [.overwrite(trees[tree], path, node)]
    case .merge(let tree, let path, let changes): return [.merge(trees[tree], path, changes)]
    case .prune(let tree, let markers): return [.prune(trees[tree], PruneForest(markers))]
    case .saveQuery(let tree, let path, let parameters, let isComplete, let lastUse):
      return [
        .saveQuery(
          TrackedQuery(
            tree: trees[tree], path: path, parameters: parameters, isComplete: isComplete,
            lastUse: lastUse))
      ]
    case .removeQuery(let tree, let pick):
      return try query(model, trees[tree], pick).map { [.removeQuery(trees[tree], $0)] } ?? []
    case .setKeys(let tree, let pick, let keys):
      let id = try query(model, trees[tree], pick)
      return id.map { [.setTrackedKeys(trees[tree], $0, keys)] } ?? []
    case .updateKeys(let tree, let pick, let added, let removed):
      let id = try query(model, trees[tree], pick)
      return id.map { [.updateTrackedKeys(trees[tree], $0, added: added, removed: removed)] } ?? []
    case .pin(let tree, let path): return [.pin(Pin(tree: trees[tree], path: path))]
    case .unpin(let tree, let pick):
      let pins = try model.tree(trees[tree]).pins
      return pins.isEmpty ? [] : [.unpin(pins[pick % pins.count])]
    case .metadata(let tree, let name, let bytes): return [.setMetadata(trees[tree], name, bytes)]
    case .enqueue(let tree, let identity, let content):
      return [.enqueue(Lane(tree: trees[tree], identity: identity), content)]
    case .restore(let tree, let identity, let ahead, let content):
      let lane = Lane(tree: trees[tree], identity: identity)
      let state = try model.lane(lane)
      let id =
        ahead == 0 ? state.writes.first?.id : WriteID(rawValue: state.newest + UInt64(ahead))
      let states: [WriteState] = [.queued, .sent, .outcomeUnknown, .rejected(reason: "r")]
      return id.map {
        [
          .restore(
            lane,
            QueuedWrite(
              id: $0, content: content, state: states[Int(content.time) % 4],
              attempts: UInt32(content.time)))
        ]
      } ?? []
    case .replace(let tree, let identity, let pick, let content):
      let lane = Lane(tree: trees[tree], identity: identity)
      guard let write = try write(model, lane, pick), write.isRejected || write.state == .queued
      else { return [] }
      return [.replace(lane, write.id, content)]
    case .advance(let tree, let identity, let pick):
      let lane = Lane(tree: trees[tree], identity: identity)
      guard let write = try write(model, lane, pick) else { return [] }
      let next: [WriteState] =
        switch write.state {
        case .queued: [.sent]
        case .sent: [.queued, .outcomeUnknown, .rejected(reason: "reason \(pick)")]
        case .outcomeUnknown: [.queued, .rejected(reason: "")]
        case .rejected: [.queued]
        }
      return [.setState(lane, write.id, next[(pick / 7) % next.count])]
    case .finish(let tree, let identity, let pick, let choice):
      let lane = Lane(tree: trees[tree], identity: identity)
      guard let write = try write(model, lane, pick) else { return [] }
      let newest = WriteID(rawValue: try model.lane(lane).newest)
      let outcome: WriteOutcome =
        switch (choice, write.state) {
        case (0, .sent), (0, .outcomeUnknown): .acknowledged
        case (2, .queued) where newest > write.id: .superseded(by: newest)
        default: .discarded
        }
      return [.finish(lane, write.id, outcome)]
    case .purge(let tree, let identity):
      return [.purge(Lane(tree: trees[tree], identity: identity))]
    case .documents(let change): return try change.edits(model)
    }
  }

  private func query(
    _ model: StorageModel, _ tree: TreeID, _ pick: Int
  ) throws(StoreError) -> QueryID? {
    let ids = try model.tree(tree).queries.keys.sorted()
    return ids.isEmpty ? nil : ids[pick % ids.count]
  }

  private func write(
    _ model: StorageModel, _ lane: Lane, _ pick: Int
  ) throws(StoreError) -> QueueEntry? {
    let writes = try model.lane(lane).writes
    return writes.isEmpty ? nil : writes[pick % writes.count]
  }
}
