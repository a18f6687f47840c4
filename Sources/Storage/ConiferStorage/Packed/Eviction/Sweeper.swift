import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Removes uncovered data of one tree, a few runs at a time.
struct Sweeper {
  /// How many runs are removed before it checks whether to continue.
  private static let stride = 32

  let tx: LeafTransaction
  let tree: TreeInfo
  let coverage: Coverage

  init(_ tx: LeafTransaction, _ tree: TreeInfo) {
    self.tx = tx
    self.tree = tree
    self.coverage = Coverage(tx, tree)
  }

  private func makeEditor() -> RunEditor {
    let editor = RunEditor(tx, tree.id)
    editor.avoidsDeltas = true
    return editor
  }

  /// Removes uncovered data in a range, in path order, so that a node's priority is removed before its
  /// children.
  ///
  /// - Parameter isEnough: asked after each stride.
  /// - Returns: where to go on, or nil when the range is done.
  func sweep(
    _ low: Bytes, _ high: Bytes, until isEnough: () throws(StoreError) -> Bool
  ) throws(StoreError) -> Bytes? {
    var at = low
    var editor = makeEditor()
    var looks = 0
    while compareBytes(at, high) < 0 {
      looks += 1
      if looks % Self.stride == 0 {
        editor = makeEditor()
        if try isEnough() { return at }
      }
      guard let entry = try editor.firstEntry(at, high) else { return nil }
      if compareBytes(at, entry.key) < 0 { at = entry.key }
      let covered = try coverage.next(at)
      if let covered, compareBytes(covered.low, at) <= 0 {
        at = covered.high
        continue
      }
      let gap = covered.map { compareBytes($0.low, high) < 0 ? $0.low : high } ?? high
      let end = try strideEnd(editor, at, gap)
      try editor.replace(at, end, with: EntryList())
      try editor.flush()
      at = end
      if try isEnough() { return compareBytes(at, high) < 0 ? at : nil }
    }
    return nil
  }

  /// Where a stride of runs ends, at the end of a gap at the latest.
  private func strideEnd(
    _ editor: RunEditor, _ at: Bytes, _ gap: Bytes
  ) throws(StoreError) -> Bytes {
    var run = try editor.reader.run(coveringOrAfter: at)
    for _ in 0..<Self.stride {
      guard let here = run, compareBytes(here.separator, gap) < 0 else { return gap }
      run = try editor.reader.run(after: here.storeKey)
    }
    guard let run, compareBytes(run.separator, gap) < 0, compareBytes(at, run.separator) < 0
    else { return gap }
    return run.separator
  }
}
