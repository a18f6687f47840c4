import ConiferDocument
import ConiferWire

/// The documents of the watch event that has begun: what the server told of them since the last one, each document once.
///
/// Servers tell the documents of a target mostly in the order of their paths: as long as they do, no path is hashed.
struct PendingWatchDocuments: Sendable {
  /// What was said of a document for one target.
  struct Note: Sendable {
    let target: TargetID
    /// The number of the target's state for which it was said.
    var state: Int
    /// What happened to the document in the target; nil when it came and went.
    var change: TargetState.Change?
    /// Whether the document was sent for the target.
    var isReceiver: Bool
  }

  /// What was said of a document.
  struct Entry: Sendable {
    let path: DocumentPath
    /// The document, if it was sent.
    fileprivate(set) var document: Document?
    private var first: Note
    private var others: [Note] = []

    fileprivate init(_ path: DocumentPath, _ document: Document?, _ note: Note) {
      self.path = path
      self.document = document
      first = note
    }

    /// Takes out the document, if it was sent.
    mutating func takeDocument() -> Document? { document.take() }

    /// Tells the targets that count what was said; in place, without a copy.
    ///
    /// - Returns: whether only limbo asked for the document.
    mutating func tell(_ changes: inout GatheredChanges) -> Bool { changes.take(self) }

    /// Whether a test holds for what was said for each target.
    func allSatisfy(_ test: (Note) -> Bool) -> Bool { test(first) && others.allSatisfy(test) }

    /// Gives what was said for each target.
    func forEach(_ body: (Note) -> Void) {
      body(first)
      for note in others { body(note) }
    }

    /// Puts what is said for a target in the place of what was said for it.
    ///
    /// - Returns: the change that was noted before for the target's same state.
    fileprivate mutating func put(_ note: Note) -> TargetState.Change? {
      if first.target == note.target { return first.replace(with: note) }
      guard let index = others.firstIndex(where: { $0.target == note.target }) else {
        others.append(note)
        return nil
      }
      return others[index].replace(with: note)
    }
  }

  private var entries: [Entry] = []
  /// Where each path is; nil as long as paths ascend.
  private var places: [DocumentPath: Int]?

  /// Notes that a document came into a target, was changed in it, or left it.
  ///
  /// - Parameters:
  ///   - document: the document, if it was sent.
  ///   - note: what is said for the target.
  /// - Returns: the change that was noted before for the target's same state.
  mutating func note(
    _ path: DocumentPath, _ document: consuming Document?, _ note: Note
  ) -> TargetState.Change? {
    guard let place = find(path) else {
      places?[path] = entries.count
      entries.append(Entry(path, document, note))
      return nil
    }
    if document != nil { entries[place].document = document }
    return entries[place].put(note)
  }

  /// Whether a document was sent for a target.
  func wasSent(_ path: DocumentPath, for target: TargetID) -> Bool {
    let entry = place(of: path).map { entries[$0] }
    return entry.map { !$0.allSatisfy { $0.target != target || !$0.isReceiver } } ?? false
  }

  /// Takes all that was said, in the order of the paths.
  mutating func takeAll() -> [Entry] {
    var all = entries
    if places != nil { all.sort { $0.path < $1.path } }
    self = PendingWatchDocuments()
    return all
  }

  /// Where a path is; one that is not there may be appended afterwards.
  private mutating func find(_ path: DocumentPath) -> Int? {
    guard places == nil else { return places?[path] }
    guard let last = entries.last?.path, path <= last else { return nil }
    if let place = place(of: path) { return place }
    places = Dictionary(uniqueKeysWithValues: zip(entries.lazy.map(\.path), 0...))
    return nil
  }

  private func place(of path: DocumentPath) -> Int? {
    if let places { return places[path] }
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      let order = DocumentPath.compare(entries[middle].path, path)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}

extension PendingWatchDocuments.Note {
  /// - Returns: the change that was noted before for the same state.
  fileprivate mutating func replace(with new: Self) -> TargetState.Change? {
    let earlier = state == new.state ? change : nil
    (state, change) = (new.state, new.change)
    if new.isReceiver { isReceiver = true }
    return earlier
  }
}
