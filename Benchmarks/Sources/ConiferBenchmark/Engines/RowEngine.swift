import CPeers
package import ConiferTree

/// A raw engine with one leaf a row, and around it what an app would write: notes of use, pins, a
/// queue, an index. Small writes are made ready before they are timed, which favours it.
package final class RowEngine: Engine {
  let store: any RowStore

  package init(_ store: any RowStore) { self.store = store }

  private func committing(_ batch: RowBatch, _ number: UInt64 = 0) -> Operation {
    .blocking { [store] in
      try store.commit(batch)
      return number
    }
  }

  package func loading(_ path: String, _ node: Node, use: UInt64) -> Operation {
    let note: Node = [
      "bytes": Node(.integer(Int64(node.estimatedSize))), "use": Node(.integer(Int64(use))),
    ]
    return replacing(path, node, note: (RowKey.of(RowKey.use, path), note.json()))
  }

  package func storing(_ path: String, _ node: Node) -> Operation { replacing(path, node) }

  /// Clears a subtree and puts its leaves; the app's tree of values becomes rows while it is timed, as
  /// a backend's does.
  private func replacing(
    _ path: String, _ node: Node, note: (key: [UInt8], value: [UInt8])? = nil
  ) -> Operation {
    let below = RowKey.below(RowKey.data, path)
    let key = RowKey.of(RowKey.data, path)
    let tree = RowTree(node)
    return .blocking { [store] in
      var batch = peer_batch()
      defer { peer_batch_free(&batch) }
      peer_batch_add(
        &batch, PEER_CLEAR, below.from, below.from.count, below.to, below.to.count)
      peer_batch_add_tree(&batch, tree.pointer, key, key.count)
      if let note {
        peer_batch_add(
          &batch, PEER_PUT, note.key, note.key.count, note.value, note.value.count)
      }
      try store.commit(UnsafeRawBufferPointer(start: batch.bytes, count: batch.count))
      return 0
    }
  }

  package func updating(_ changes: [(path: String, value: Int64?)]) -> Operation {
    var batch = RowBatch()
    for change in changes {
      let key = RowKey.of(RowKey.data, change.path)
      if let value = change.value {
        batch.put(key, Array("\(value)".utf8))
      } else {
        batch.delete(key)
      }
    }
    return committing(batch)
  }

  package func enqueueing(_ writes: [SmallWrite]) -> Operation {
    var batch = RowBatch()
    for write in writes { batch.put(queueKey(write), write.record) }
    return committing(batch, UInt64(writes.last?.number ?? 0))
  }

  package func acknowledging(_ write: SmallWrite, _ number: UInt64) -> Operation {
    var batch = RowBatch()
    batch.delete(queueKey(write))
    write.node.forEachLeaf { keys, leaf, _ in
      let full = ([write.path] + keys.map(\.string)).joined(separator: "/")
      batch.put(RowKey.of(RowKey.data, full), Node(leaf).json())
    }
    return committing(batch)
  }

  private func queueKey(_ write: SmallWrite) -> [UInt8] {
    RowKey.of(RowKey.queue, "writer-\(write.lane)") + [1] + RowKey.number(UInt64(write.number))
  }

  package func pinning(_ paths: [String]) -> Operation {
    var batch = RowBatch()
    for path in paths { batch.put(RowKey.of(RowKey.pin, path), []) }
    return committing(batch)
  }

  /// By the notes of use, in one commit.
  package func evictingHalf() throws -> Operation {
    .blocking { [self] in
      let notes = try rows(RowKey.use).map { (path: $0.path, note: try Node(json: $0.value)) }
      let pinned = Set(try rows(RowKey.pin).map(\.path))
      func number(_ note: Node, _ name: String) -> Int64 {
        if case .integer(let value) = note[Key(name)].leaf { value } else { 0 }
      }
      var left = notes.reduce(0) { $0 + number($1.note, "bytes") } / 2
      var batch = RowBatch()
      for (path, note) in notes.sorted(by: { number($0.note, "use") < number($1.note, "use") })
      where left > 0 && !pinned.contains(path) {
        let below = RowKey.below(RowKey.data, path)
        batch.clear(below.from, below.to)
        batch.delete(RowKey.of(RowKey.use, path))
        left -= number(note, "bytes")
      }
      try store.commit(batch)
      return 0
    }
  }

  package func liveBytes() throws -> Int? { store.liveBytes }

  package func reclaim() async throws { try store.compact() }

  package func close() async throws { try store.close() }

  // MARK: What is stored

  package func digest() throws -> Digest {
    var data = peer_sum(skipped: 2, sum: 0, rows: 0, bytes: 0)
    let all = RowKey.below(RowKey.data, "")
    try store.scan(all.from, all.to, backwards: false, peer_sum_add, &data)
    var sum = data.sum
    var writes = 0
    for row in try rows(RowKey.queue) {
      // A queue's name, and behind it the number's eight bytes.
      sum &+= RowHash.of(Array(row.path.utf8.prefix { $0 != UInt8(ascii: "/") }), row.value)
      writes += 1
    }
    return Digest(leaves: Int(data.rows), writes: writes, sum: sum)
  }
}
