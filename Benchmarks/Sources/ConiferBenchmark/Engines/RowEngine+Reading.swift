import CPeers
package import ConiferTree

/// Rows that were copied.
private final class Copies {
  var rows: [(key: [UInt8], value: [UInt8])] = []
  var most = Int.max
}

private let copy: peer_visit = { context, key, keyCount, value, valueCount in
  guard let context else { return false }
  let copies = Unmanaged<Copies>.fromOpaque(context).takeUnretainedValue()
  copies.rows.append(
    (
      Array(UnsafeBufferPointer(start: key, count: keyCount)),
      Array(UnsafeBufferPointer(start: value, count: valueCount))
    ))
  return copies.rows.count < copies.most
}

extension RowEngine {
  /// All rows of a kind, with their paths.
  func rows(_ kind: String) throws -> [(path: String, value: [UInt8])] {
    let all = RowKey.below(kind, "")
    return try rows(all.from, all.to).map { row in
      let path = row.key.dropFirst(2).map { $0 == 1 ? UInt8(ascii: "/") : $0 }
      return (String(decoding: path, as: UTF8.self), row.value)
    }
  }

  private func rows(
    _ from: [UInt8], _ to: [UInt8], last count: Int? = nil
  ) throws -> [(key: [UInt8], value: [UInt8])] {
    let copies = Copies()
    if let count { copies.most = count }
    try store.scan(
      from, to, backwards: count != nil, copy, Unmanaged.passUnretained(copies).toOpaque())
    return copies.rows
  }

  package func node(_ path: String) throws -> Node {
    let below = RowKey.below(RowKey.data, path)
    let nodes = RowNodes(skipping: below.from.count)
    try store.scan(
      below.from, below.to, backwards: false, RowNodes.visit,
      Unmanaged.passUnretained(nodes).toOpaque())
    return nodes.finish()
  }

  package func leaf(_ path: String) throws -> Leaf? {
    let row = RowLeaf()
    let key = RowKey.of(RowKey.data, path)
    guard try store.get(key, RowLeaf.visit, Unmanaged.passUnretained(row).toOpaque()) else {
      return nil
    }
    return row.leaf
  }

  package func last(
    _ count: Int, by child: String, of path: String, indexed: Bool
  ) throws -> [String] {
    guard indexed else { return Self.last(count, by: Key(child), of: try node(path)) }
    let index = indexKeys(path)
    return try rows(index.from, index.to, last: count).reversed().map { row in
      let key = String(decoding: row.key.dropFirst(index.from.count + 8), as: UTF8.self)
      // A child is read as a tree of its own, as one who shows it would.
      guard try leaves("\(path)/\(key)") > 0 else { throw RowError("the index names no child") }
      return key
    }
  }

  /// The keys of the children with the greatest numbers, in one pass.
  private static func last(_ count: Int, by child: Key, of node: Node) -> [String] {
    var found: [(number: Int64, key: Key)] = []
    for (key, value) in node.children {
      guard case .integer(let number) = value[child].leaf else { continue }
      if found.count == count, number < found[0].number { continue }
      // Equal numbers by key, which is the order in which they come.
      let place = (found.lastIndex { $0.number <= number } ?? -1) + 1
      found.insert((number, key), at: place)
      if found.count > count { found.removeFirst() }
    }
    return found.map(\.key.string)
  }

  private func indexKeys(_ path: String) -> (from: [UInt8], to: [UInt8]) {
    RowKey.below(RowKey.index, path)
  }

  package func makeIndex(of path: String, by child: String, _ node: Node) async throws -> Bool {
    var batch = RowBatch()
    let index = indexKeys(path)
    for (key, value) in node.children {
      guard case .integer(let number) = value[Key(child)].leaf else { continue }
      batch.put(index.from + RowKey.number(UInt64(number)) + Array(key.string.utf8), [])
    }
    try store.commit(batch)
    return true
  }
}
