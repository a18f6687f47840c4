import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Leaves of the tree in lists of entries.
extension EntryList {
  /// Appends a leaf, as a reference to parts when it is large.
  mutating func append(_ key: Bytes, _ leaf: Leaf, _ priority: Priority?) {
    if append(key, { LeafCodec.append(leaf, priority, to: &$0) }) { return }
    append(LeafCodec.entry(key, leaf, priority))
  }

  /// The leaf of an entry, or nil when its value is damaged.
  func leaf(_ index: Int) -> LeafCodec.Decoded? { withValue(index) { LeafCodec.decode($0) } }
}

extension EntryList.Lent {
  /// The leaf of an entry, or nil when its value is damaged.
  func leaf(_ index: Int) -> LeafCodec.Decoded? { LeafCodec.decode(value(index)) }
}

extension LeafCodec {
  /// The entry of a leaf, which refers to parts when the leaf is large; a commit gives them their number.
  static func entry(_ key: Bytes, _ leaf: Leaf, _ priority: Priority?) -> Entry {
    let value = encode(leaf, priority)
    guard value.count > LargeLeaf.threshold else { return Entry(key: key, value: value) }
    // The leaf alone decides, so that a priority that comes or goes moves nothing.
    let content = priority == nil ? value : encode(leaf, nil)
    guard content.count > LargeLeaf.threshold else { return Entry(key: key, value: value) }
    let reference = PartsReference(
      number: 0, count: content.count, rest: priority.map { encode($0.leaf, nil) } ?? [])
    return Entry(key: key, value: reference.value, content: content)
  }
}

extension RunReader {
  /// A leaf that is stored in parts.
  ///
  /// - Parameter run: the store's key of the run that refers to them.
  /// - Throws: `damaged` naming the run.
  func leaf(
    _ reference: PartsReference, in run: @autoclosure () throws(StoreError) -> Bytes
  ) throws(StoreError) -> Leaf {
    let content = try largeLeaf(reference, in: try run())
    guard case .leaf(let leaf, _) = LeafCodec.decode(content) else {
      throw Damage.error(Spaces.runs, try run())
    }
    return leaf
  }

  /// The leaf with a path key, if memory knows its run at the snapshot's generation.
  func leafFromMemory(_ key: Bytes) -> Node? {
    view.snapshot?.fromMemory { memory, generation in
      memory.leaf(tree, key, at: generation)
    }
  }
}
