import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Loads a JSON file into a tree, in flat memory, so that a kill at any moment leaves a prefix that
/// is marked incomplete.
///
/// The first commit removes the marks of completeness from everything that the import touches. Then
/// come commits of a few megabytes. The last one, which survives power loss, marks each child of
/// the target complete by a tracked query.
struct Importer {
  /// About how much memory the nodes of one commit take.
  static let standardWindow = 8 << 20

  let file: ImportFile
  let target: Path
  /// Whether children that the file does not name stay.
  let merges: Bool
  var window = Importer.standardWindow

  /// The result of an import.
  struct Summary {
    var leaves = 0
    var children = 0
  }

  /// Reads the whole file before anything is stored.
  ///
  /// - Returns: the children that a merge replaces; nil when all of the target is replaced.
  /// - Throws: `JSONError` with line and column for what is no JSON, or no data that an app may
  ///   write.
  func check(_ progress: (Int) -> Void) throws -> Set<Key>? {
    var children: Set<Key> = []
    var reader = try file.reader()
    var builder = NodeBuilder(at: target, validating: true)
    while try advance(&builder, &reader) {
      for piece in builder.drain() {
        if merges, piece.path == target, piece.node.isLeaf {
          throw Failure(
            "not-an-object", .badData,
            "--merge needs an object or an array in the file; leave it out to replace \(target).")
        }
        if merges, let key = child(of: piece) { children.insert(key) }
      }
      progress(reader.bytesRead)
    }
    return merges ? children : nil
  }

  /// Loads the file that was checked.
  ///
  /// - Parameters:
  ///   - replaced: what `check` returned.
  ///   - progress: gets the number of bytes read after each commit; an error that it throws ends
  ///     the import.
  func load(
    _ store: TreeStore, replacing replaced: Set<Key>?, _ progress: (Int) throws -> Void
  ) async throws -> Summary {
    let marks = try store.backend.inspect {
      try Completeness($0, store.tree, target, children: replaced)
    }
    let clearing: [StorageEdit] = merges ? [] : [.overwrite(store.tree, target, .empty)]
    try await store.commit(marks.taken + clearing, .process)
    // Loaded data must not be evicted before it is complete, whatever the budget.
    let mark = try store.backend.inspect {
      try $0.trackedQuery(store.tree, target, TrackedQuery.defaultParameters)
    }
    if let mark { store.backend.setActive(true, mark.id, in: store.tree) }
    defer { if let mark { store.backend.setActive(false, mark.id, in: store.tree) } }

    var summary = Summary()
    var edits: [StorageEdit] = []
    var size = 0
    var reader = try file.reader()
    var builder = NodeBuilder(at: target, validating: true)
    while try advance(&builder, &reader) {
      for piece in builder.drain() {
        // The target is clear already, or its other children stay.
        if piece.path == target, piece.node.isEmpty { continue }
        edits.append(.overwrite(store.tree, piece.path, piece.node))
        size += piece.node.estimatedSize
        if piece.path.last?.isPriority != true { summary.leaves += piece.node.leafCount }
      }
      guard size >= window / 2 else { continue }
      try await store.commit(edits, .process)
      edits.removeAll()
      size = 0
      try progress(reader.bytesRead)
    }
    if !edits.isEmpty { try await store.commit(edits, .process) }
    summary.children = try await finish(marks, store, replaced)
    return summary
  }

  /// Reads on until pieces should be drained; false after the last ones.
  private func advance(
    _ builder: inout NodeBuilder, _ reader: inout JSONReader
  ) throws -> Bool {
    guard !builder.isComplete else {
      // One more step, so that text after the value is refused.
      _ = try builder.advance(&reader)
      return false
    }
    while try builder.advance(&reader), !builder.isComplete {
      if builder.pendingBytes > window { return true }
      // A merge writes each child separately: a null deletes.
      if merges, reader.depth == 1, builder.pendingBytes > 0 { return true }
    }
    return true
  }

  private func child(of piece: NodeBuilder.Piece) -> Key? {
    guard piece.path.count > target.count else { return nil }
    let key = piece.path.keys[target.count]
    return key.isPriority ? nil : key
  }

  private func finish(
    _ marks: Completeness, _ store: TreeStore, _ replaced: Set<Key>?
  ) async throws -> Int {
    let (edits, count) = try store.backend.inspect { view -> ([StorageEdit], Int) in
      var children = replaced.map { $0.sorted() } ?? []
      if replaced == nil {
        try view.forEachKey(store.tree, target) { key in
          children.append(key)
          return true
        }
      }
      return (try marks.given(view, children: children), children.count)
    }
    try await store.commit(edits, .power)
    return count
  }
}
