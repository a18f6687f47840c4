package import CPeers
package import ConiferKeyValue

/// Any store of the narrow contract, used as a raw engine: one leaf a row.
package final class OrderedRows: RowStore {
  private static let space = Space(id: 1, shape: .rows)
  private let store: any OrderedStore
  private let durability: Durability

  package init(_ store: any OrderedStore, _ durability: Durability) {
    self.store = store
    self.durability = durability
  }

  package func commit(_ edits: UnsafeRawBufferPointer) throws {
    var batch = Batch()
    RowBatch.forEach(edits) { kind, key, value in
      switch kind {
      case PEER_PUT: batch.put(Self.space, Array(key), Array(value))
      case PEER_DELETE: batch.delete(Self.space, Array(key))
      default: batch.clear(Self.space, from: Array(key), to: Array(value))
      }
    }
    try store.apply(batch, durability)
  }

  package func get(
    _ key: [UInt8], _ visit: peer_visit, _ context: UnsafeMutableRawPointer
  ) throws -> Bool {
    let view = try store.view()
    defer { view.close() }
    return try view.get(Self.space, key) { value in
      value.withUnsafeBytes { value in
        _ = visit(context, key, key.count, value.base, value.count)
      }
    } != nil
  }

  package func scan(
    _ from: [UInt8], _ to: [UInt8], backwards: Bool, _ visit: peer_visit,
    _ context: UnsafeMutableRawPointer
  ) throws {
    let view = try store.view()
    defer { view.close() }
    try view.walk(Self.space, backwards ? .atOrBefore(to) : .atOrAfter(from)) { key, value in
      key.withUnsafeBytes { key in
        value.withUnsafeBytes { value in
          let isInside =
            backwards
            ? !key.lexicographicallyPrecedes(from) && !key.elementsEqual(to)
            : key.lexicographicallyPrecedes(to)
          if !isInside { return backwards && key.elementsEqual(to) ? .next : .stop }
          return visit(context, key.base, key.count, value.base, value.count) ? .next : .stop
        }
      }
    }
  }

  package func compact() throws {
    while try store.tidy(.milliseconds(100)) {}
  }

  package var liveBytes: Int? { (try? store.size())?.live }

  package func close() throws { try store.close() }
}

extension UnsafeRawBufferPointer {
  fileprivate var base: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
