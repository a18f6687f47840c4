import CPeers
package import ConiferKeyValue
package import ConiferStorage
package import ConiferTree

/// Any backend of Conifer's contract.
package final class TreeEngine: Engine {
  let backend: any StorageBackend
  let tree: TreeID

  package init(_ configuration: StorageConfiguration) async throws(StoreError) {
    backend = try configuration.open()
    do throws(StoreError) {
      tree = try await backend.tree(named: "bench")
    } catch {
      try? await backend.close()
      throw error
    }
  }

  private func committing(_ edits: [StorageEdit]) -> Operation {
    .committing { [backend] in
      let receipt = try backend.commitAndWait(edits, backend.traits.durability)
      return receipt.writes.last?.rawValue ?? 0
    } awaiting: { [backend] in
      let receipt = try await backend.commit(edits)
      return receipt.writes.last?.rawValue ?? 0
    }
  }

  package func loading(_ path: String, _ node: Node, use: UInt64) -> Operation {
    let path = Path(path)
    return committing([
      .overwrite(tree, path, node),
      .saveQuery(TrackedQuery(tree: tree, path: path, isComplete: true, lastUse: use)),
    ])
  }

  package func storing(_ path: String, _ node: Node) -> Operation {
    committing([.overwrite(tree, Path(path), node)])
  }

  package func updating(_ changes: [(path: String, value: Int64?)]) -> Operation {
    committing(
      changes.map { .overwrite(tree, Path($0.path), $0.value.map { Node(.integer($0)) } ?? .empty) }
    )
  }

  package func enqueueing(_ writes: [SmallWrite]) -> Operation {
    committing(writes.map { .enqueue(lane($0.lane), $0.content) })
  }

  package func acknowledging(_ write: SmallWrite, _ number: UInt64) -> Operation {
    committing([
      .overwrite(tree, Path(write.path), write.node),
      .finish(lane(write.lane), WriteID(rawValue: number), .acknowledged),
    ])
  }

  package func pinning(_ paths: [String]) -> Operation {
    committing(paths.map { .pin(Pin(tree: tree, path: Path($0))) })
  }

  package func evictingHalf() throws -> Operation {
    let half = try backend.evicting().space().cache / 2
    return .awaiting { [backend] in
      _ = try await backend.evicting().evict(to: half, dryRun: false)
      return 0
    }
  }

  private func lane(_ number: Int) -> Lane { Lane(tree: tree, identity: "writer-\(number)") }

  // MARK: Reads

  package func leaf(_ path: String) throws -> Leaf? { try node(path).leaf }

  package func node(_ path: String) throws -> Node {
    try backend.node(tree, Path(path))
  }

  package func liveBytes() throws -> Int? { try backend.size().live }

  package func reclaim() async throws {
    while try await backend.tidy(.milliseconds(100)) {}
  }

  package func close() async throws { try await backend.close() }

  // MARK: What is stored

  package func digest() throws -> Digest {
    var sum = Sum()
    try backend.read { (view) throws(StoreError) in
      for top in try view.childKeys(tree, .root, after: nil, limit: .max) {
        var after: Key?
        repeat {
          // In windows, so that no tree is in memory as a whole.
          let keys = try view.childKeys(tree, Path([top]), after: after, limit: 100)
          for key in keys { sum.add(try view.node(tree, Path([top, key])), at: Path([top, key])) }
          after = keys.last
        } while after != nil
      }
      for lane in try view.lanes(tree) { try sum.add(view, lane) }
    }
    return sum.digest
  }

  private struct Sum {
    private var sum: UInt64 = 0
    private var leaves = 0
    private var writes = 0

    var digest: Digest { Digest(leaves: leaves, writes: writes, sum: sum) }

    mutating func add(_ node: Node, at path: Path) {
      node.forEachLeaf { keys, leaf, _ in
        let text = (path.keys + keys).map(\.string).joined(separator: "/")
        sum &+= RowHash.of(Array(text.utf8), Node(leaf).json())
        leaves += 1
      }
    }

    mutating func add(_ view: any StorageView, _ lane: Lane) throws(StoreError) {
      var after: WriteID?
      repeat {
        let window = try view.writes(lane, after: after, limit: 500)
        for write in window {
          sum &+= RowHash.of(Array(lane.identity.utf8), SmallWrite.record(write.content))
          writes += 1
        }
        after = window.last?.id
      } while after != nil
    }
  }
}

/// The hash of one row, as the raw engines have it.
enum RowHash {
  static func of(_ key: [UInt8], _ value: [UInt8]) -> UInt64 {
    peer_row_hash(key, key.count, value, value.count)
  }
}
