import ConiferKeyValue
import ConiferTree

/// Reads some children of a node in the order of their keys, each run once.
struct ChildReader {
  let tree: TreeReader
  private var run: DecodedRun?
  /// Kept from child to child, since their leaves have the same names.
  private var assembler: NodeAssembler

  init(_ tree: TreeReader) {
    self.tree = tree
    assembler = NodeAssembler(at: [], tree.order)
  }

  /// The child with a path key behind those asked for before; empty when there is none.
  mutating func child(_ key: Bytes) throws(StoreError) -> Node {
    assembler.restart(at: key)
    if try !isInRun(key) {
      guard let run = try tree.runs.decoded(coveringOrAfter: key) else { return .empty }
      load(run)
    }
    while let run, try !add(run, key),
      let next = try tree.runs.run(after: run.head.storeKey),
      bytesPrecede(next.separator, key + [PathKey.endMark])
    {
      load(try tree.runs.decoded(next))
    }
    guard let node = assembler.finish() else {
      throw Damage.error(Spaces.runs, run?.head.storeKey ?? StoreKey.prefix(tree.runs.tree))
    }
    return node
  }

  /// Adds the entries of a run that belong to a child; true when one behind them is there.
  private mutating func add(_ run: DecodedRun, _ key: Bytes) throws(StoreError) -> Bool {
    var failure: StoreError?
    let isOver = run.entries.lend { lent in
      key.withUnsafeBytes { key in
        var index = lent.lowerBound(key)
        while index < lent.count {
          // All that begins with a child's key is in the child.
          guard lent.hasPrefix(index, key) else { return true }
          do throws(StoreError) {
            guard let decoded = lent.leaf(index),
              case .leaf(let leaf, let priority) = try tree.runs.leaf(
                decoded, in: run.head.storeKey),
              assembler.add(lent.key(index), leaf, priority)
            else { throw Damage.error(Spaces.runs, run.head.storeKey) }
          } catch {
            failure = error
            return true
          }
          index += 1
        }
        return false
      }
    }
    if let failure { throw failure }
    return isOver
  }

  /// Whether a key belongs to the run at hand for sure.
  private func isInRun(_ key: Bytes) throws(StoreError) -> Bool {
    guard let run, compareBytes(run.head.separator, key) <= 0 else { return false }
    if let last = run.entries.indices.last, run.entries.compareKey(last, key) >= 0 { return true }
    return try tree.runs.run(covering: key)?.storeKey == run.head.storeKey
  }

  private mutating func load(_ run: DecodedRun) {
    tree.meter?.note(run.head)
    self.run = run
  }
}
