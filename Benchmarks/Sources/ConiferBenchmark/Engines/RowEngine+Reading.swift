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

  package func leaves(_ path: String) throws -> Int {
    try tree(path) { Int(peer_tree_leaves($0)) }
  }

  private func tree<R>(_ path: String, _ body: (OpaquePointer) throws -> R) throws -> R {
    let below = RowKey.below(RowKey.data, path)
    guard let tree = peer_tree_make(below.from.count) else { throw RowError("no memory") }
    defer { peer_tree_free(tree) }
    try store.scan(
      below.from, below.to, backwards: false, peer_tree_add, UnsafeMutableRawPointer(tree))
    return try body(tree)
  }

  package func leaf(_ path: String) throws -> Leaf? {
    var leaf = peer_leaf()
    defer { peer_leaf_free(&leaf) }
    guard try store.get(RowKey.of(RowKey.data, path), peer_leaf_take, &leaf) else { return nil }
    switch leaf.kind {
    case 1:
      return leaf.text.map { text in
        .string(
          String(
            decoding: UnsafeRawBufferPointer(start: text, count: leaf.count), as: UTF8.self))
      }
    case 2: return .integer(leaf.integer)
    case 3: return .double(leaf.number)
    case 4: return .bool(leaf.integer != 0)
    default: return nil
    }
  }

  package func last(
    _ count: Int, by child: String, of path: String, indexed: Bool
  ) throws -> [String] {
    guard indexed else {
      return try tree(path) { tree in
        var numbers = [Int64](repeating: 0, count: count)
        var places = [Int](repeating: 0, count: count)
        let found = peer_tree_last(tree, child, count, &numbers, &places)
        return places.prefix(found).map { String(cString: peer_tree_key(tree, $0)) }
      }
    }
    let index = indexKeys(path)
    return try rows(index.from, index.to, last: count).reversed().map { row in
      let key = String(decoding: row.key.dropFirst(index.from.count + 8), as: UTF8.self)
      // A child is read as a tree of its own, as one who shows it would.
      guard try leaves("\(path)/\(key)") > 0 else { throw RowError("the index names no child") }
      return key
    }
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
