import ConiferKeyValue
import ConiferTree

/// Reads some children of a node in the order of their keys, each run once.
struct ChildReader {
  let tree: TreeReader
  private var run: (head: RunHead, entries: EntryList)?

  init(_ tree: TreeReader) { self.tree = tree }

  /// The child with a path key behind those asked for before; empty when there is none.
  mutating func child(_ key: Bytes) throws(StoreError) -> Node {
    var assembler = NodeAssembler(at: key, tree.order)
    let high = key + [PathKey.endMark]
    if try !isInRun(key) {
      guard let head = try tree.runs.run(coveringOrAfter: key) else { return .empty }
      try load(head)
    }
    while let (head, entries) = run, bytesPrecede(head.separator, high) {
      let end = entries.lowerBound(high)
      for index in min(entries.lowerBound(key), end)..<end {
        guard let decoded = entries.leaf(index),
          case .leaf(let leaf, let priority) = try tree.runs.leaf(decoded),
          entries.withKey(index, { assembler.add($0, leaf, priority) })
        else { throw Damage.error(Spaces.runs, head.storeKey) }
      }
      guard end == entries.count, let next = try tree.runs.run(after: head.storeKey),
        bytesPrecede(next.separator, high)
      else { break }
      try load(next)
    }
    guard let node = assembler.finish() else {
      throw Damage.error(Spaces.runs, run?.head.storeKey ?? StoreKey.prefix(tree.runs.tree))
    }
    return node
  }

  /// Whether a key belongs to the run at hand for sure.
  private func isInRun(_ key: Bytes) throws(StoreError) -> Bool {
    guard let (head, entries) = run, compareBytes(head.separator, key) <= 0 else { return false }
    if let last = entries.indices.last, entries.compareKey(last, key) >= 0 { return true }
    return try tree.runs.run(covering: key)?.storeKey == head.storeKey
  }

  private mutating func load(_ head: RunHead) throws(StoreError) {
    guard run?.head.storeKey != head.storeKey else { return }
    tree.meter?.note(head)
    run = (head, try tree.runs.merged(head))
  }
}
