internal import ConiferKeyValue

/// What a broken store remembers of its newest commits, in rows of its own that come with them.
struct MutationHistory {
  /// What is remembered.
  enum Kept: Sendable {
    case nothing
    /// What takes the newest commit back.
    case undo
    /// The edits of the newest commit, and of the one before.
    case batches
  }

  private enum Row: UInt8 {
    case last, before, undo, closed

    var key: Bytes { [rawValue] }
  }

  private static let space = Space.layer

  /// The edits of the newest commit.
  let last: [Batch.Edit]?
  /// The edits of the commit before.
  let before: [Batch.Edit]?
  /// The edits that take the newest commit back.
  let undo: [Batch.Edit]?
  /// Whether the store was closed after it.
  let isClosed: Bool

  /// Reads what a store remembers.
  init(of store: any OrderedStore) throws(StoreError) {
    let view = try store.view()
    defer { view.close() }
    last = try view.value(Self.space, Row.last.key).map(Self.edits)
    before = try view.value(Self.space, Row.before.key).map(Self.edits)
    undo = try view.value(Self.space, Row.undo.key).map(Self.edits)
    isClosed = try view.value(Self.space, Row.closed.key) != nil
  }

  /// The edits that come with a batch, so that it is remembered.
  func rows(
    for batch: Batch, _ kept: Kept, _ store: any OrderedStore
  ) throws(StoreError) -> [Batch.Edit] {
    var rows: [Batch.Edit] = isClosed ? [.delete(Self.space, key: Row.closed.key)] : []
    func put(_ row: Row, _ edits: [Batch.Edit]) {
      rows.append(.put(Self.space, key: row.key, value: Self.bytes(edits)))
    }
    switch kept {
    case .nothing: break
    case .undo: put(.undo, try Self.inverse(of: batch.edits, store))
    case .batches:
      if let last { put(.before, last) }
      put(.last, batch.edits)
    }
    return rows
  }

  /// What is no longer true once the newest commit was taken back.
  var forgettingUndo: [Batch.Edit] { [.delete(Self.space, key: Row.undo.key)] }

  /// The edit that says that the store was closed.
  static let closing = Batch.Edit.put(space, key: Row.closed.key, value: [])

  /// The edits that lead back to what a store holds now.
  private static func inverse(
    of edits: [Batch.Edit], _ store: any OrderedStore
  ) throws(StoreError) -> [Batch.Edit] {
    let view = try store.view()
    defer { view.close() }
    var old: [Batch.Edit] = []
    var known: Set<Place> = []
    func note(_ space: Space, _ key: Bytes, _ value: Bytes?) {
      guard known.insert(Place(space: space.id, key: key)).inserted else { return }
      old.append(value.map { .put(space, key: key, value: $0) } ?? .delete(space, key: key))
    }
    for edit in edits {
      switch edit {
      case .put(let space, let key, _), .delete(let space, let key):
        // What no store takes it refuses, and looks up as absent.
        note(space, key, try view.value(space, key))
      case .clear(let space, let from, let to):
        try view.walk(space, .atOrAfter(from)) { key, value in
          guard key.compare(to) < 0 else { return .stop }
          note(space, Bytes(key), Bytes(value))
          return .next
        }
      }
    }
    return old
  }

  private static func bytes(_ edits: [Batch.Edit]) -> Bytes {
    var writer = ByteWriter()
    for edit in edits {
      let (kind, first, second): (UInt8, Bytes, Bytes) =
        switch edit {
        case .put(_, let key, let value): (0, key, value)
        case .delete(_, let key): (1, key, [])
        case .clear(_, let from, let to): (2, from, to)
        }
      writer.append([kind, edit.space.id, edit.space.shape.rawValue])
      writer.sized(first)
      writer.sized(second)
    }
    return writer.bytes
  }

  private static func edits(_ bytes: Bytes) -> [Batch.Edit] {
    var reader = ByteReader(bytes)
    var edits: [Batch.Edit] = []
    while let kind = reader.byte(), let id = reader.byte(), let shape = reader.byte(),
      let first = reader.sized(), let second = reader.sized()
    {
      let space = Space(id: id, shape: Space.Shape(rawValue: shape) ?? .rows)
      switch kind {
      case 0: edits.append(.put(space, key: first, value: second))
      case 1: edits.append(.delete(space, key: first))
      default: edits.append(.clear(space, from: first, to: second))
      }
    }
    return edits
  }
}
