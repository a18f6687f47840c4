import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// The two trees of a database: its documents, and what the server remembers of their changes.
struct DatabaseStore: Sendable {
  private static let changesCollection = "changes"
  private static let streamsCollection = "streams"

  let backend: any DocumentBackend
  let database: DatabaseID
  private let trees: DatabaseTrees
  /// What the database begins with where the store does not have it yet.
  private let beginning: DatabaseHead
  private let headPath: DocumentPath
  private let changes: CollectionPath
  private let streams: CollectionPath

  /// What is known of a database as of its last commit.
  struct Contents: Sendable {
    var head: DatabaseHead
    var history: ChangeHistory
    var writes: DeduplicationLog
    /// The numbers of changes that the limits let go, and that the store still has.
    var forgotten: [Int64] = []
  }

  /// Opens a database. One that the store does not have is empty, and made by its first commit.
  ///
  /// - Parameters:
  ///   - limits: how many changes are remembered.
  ///   - most: how many databases the store may have for one more to be made.
  ///   - now: the time by which a new database is made.
  /// - Throws: as the store's commits and reads.
  static func open(
    _ database: DatabaseID, in backend: any DocumentBackend, _ limits: DocumentHistoryLimits,
    most: Int, now: Timestamp
  ) async throws(StoreError) -> (DatabaseStore, Contents) {
    let head = DatabaseHead(
      instance: UInt64.random(in: .min ... .max), time: now, next: 0, floor: now)
    let store = try DatabaseStore(
      backend, database, try await DatabaseTrees.find(database, in: backend, most: most), head)
    if let contents = try store.contents(limits) { return (store, contents) }
    if let pair = store.trees.pair {
      try await backend.commit([
        .documents(pair.memory, [.put(head.document(at: store.headPath))])
      ])
    }
    let contents = Contents(
      head: head, history: ChangeHistory(limits, floor: now, next: 0), writes: DeduplicationLog())
    return (store, contents)
  }

  private init(
    _ backend: any DocumentBackend, _ database: DatabaseID, _ trees: DatabaseTrees,
    _ beginning: DatabaseHead
  ) throws(StoreError) {
    self.backend = backend
    self.database = database
    self.trees = trees
    self.beginning = beginning
    do throws(DocumentError) {
      headPath = try DocumentPath("server/head")
      changes = try CollectionPath(Self.changesCollection)
      streams = try CollectionPath(Self.streamsCollection)
    } catch { throw StoreError(.invalid, error.message) }
  }

  /// Whether the store has the database.
  var isStored: Bool { trees.pair != nil }

  // MARK: Reading

  /// Reads one moment of the database: its documents, and when the last commit of it was made.
  ///
  /// - Throws: what the closure throws, and as the store's reads.
  func read<R>(
    _ body: (DatabaseView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    while true {
      let state = trees.state
      do throws(StoreError) {
        return try backend.readDocuments { (view) throws(StoreError) -> R in
          let (pair, empty) = try pair(in: view, state)
          var time = empty
          if let pair, let head = DatabaseHead(try view.document(pair.memory, headPath)) {
            time = head.time
          }
          return try body(
            DatabaseView(view: view, tree: pair?.documents, database: database, time: time))
        }
      } catch {
        // The trees may have been removed before the view was opened.
        if trees.state == state { throw error }
      }
    }
  }

  /// The trees that a view shows, and the time as of which the database is empty if it has none.
  private func pair(
    in view: any DocumentView, _ state: DatabaseTrees.State
  ) throws(StoreError) -> (DatabaseTrees.Pair?, Timestamp) {
    switch state {
    case .absent: return (nil, beginning.time)
    case .present(let pair): return (pair, beginning.time)
    case .leaving(let pair, let time):
      let isThere = try view.trees().contains { $0.id == pair.documents }
      return (isThere ? pair : nil, time)
    }
  }

  /// One moment of a database.
  struct DatabaseView {
    let view: any DocumentView
    /// The tree of its documents; nil when the store does not have the database.
    let tree: TreeID?
    fileprivate let database: DatabaseID
    /// When the last commit was made.
    let time: Timestamp

    /// A document as it is stored, found or missing.
    func document(_ path: DocumentPath) throws(StoreError) -> Document {
      guard let tree else { return Document(path, .missing) }
      let stored = try view.document(tree, path)
      return stored.fields == nil ? Document(path, .missing) : stored
    }

    /// What a query gives, in its order.
    ///
    /// - Parameters:
    ///   - share: the memory that the documents are counted in; nil where nobody counts.
    ///   - fields: what is needed of them; nil for everything.
    /// - Throws: `tooLarge` when there is no room for them.
    func documents(
      _ query: DocumentQuery, in share: ReadShare? = nil, fields: [FieldPath]? = nil
    ) throws(StoreError) -> [Document] {
      guard let tree else { return [] }
      guard let share else { return try view.query(Lane(tree: tree), query).documents }
      return try view.query(tree, query, within: ReadAllowance(fields: fields, claim: share.claim))
    }
  }

  private func contents(_ limits: DocumentHistoryLimits) throws(StoreError) -> Contents? {
    guard let pair = trees.pair else { return nil }
    return try backend.readDocuments { (view) throws(StoreError) -> Contents? in
      guard let head = DatabaseHead(try view.document(pair.memory, headPath)) else { return nil }
      let (history, forgotten) = try history(view, pair, head, limits)
      var writes = DeduplicationLog()
      try forEach(view, pair.memory, streams) { writes.load($0) }
      return Contents(head: head, history: history, writes: writes, forgotten: forgotten)
    }
  }

  private func history(
    _ view: any DocumentView, _ pair: DatabaseTrees.Pair, _ head: DatabaseHead,
    _ limits: DocumentHistoryLimits
  ) throws(StoreError) -> (ChangeHistory, forgotten: [Int64]) {
    var records: [ChangeRecord] = []
    try forEach(view, pair.memory, changes) { document in
      if let record = ChangeRecord(document) { records.append(record) }
    }
    // The document after a change is the one before its next change, or the stored document.
    var afters: [DocumentPath: Document] = [:]
    var loaded: [DocumentChange] = []
    let present = DatabaseView(
      view: view, tree: pair.documents, database: database, time: head.time)
    for record in records.reversed() {
      let path = record.before.path
      var after = if let next = afters[path] { next } else { try present.document(path) }
      if after.fields == nil { after = Document(path, .missing, version: record.time) }
      loaded.append(
        DocumentChange(
          number: record.number, time: record.time, before: record.before, after: after))
      afters[path] = record.before
    }
    var history = ChangeHistory(limits, floor: head.floor, next: records.first?.number ?? head.next)
    for change in loaded.reversed() { history.append(change) }
    return (history, loaded.lazy.map(\.number).filter { $0 < history.first })
  }

  private func forEach(
    _ view: any DocumentView, _ memory: TreeID, _ collection: CollectionPath,
    _ body: (Document) -> Void
  ) throws(StoreError) {
    var last: DocumentPath?
    while true {
      let some = try view.documents(memory, in: collection, after: last, limit: 256)
      some.forEach(body)
      guard let end = some.last else { return }
      last = end.path
    }
  }

  // MARK: Changing

  /// What one commit of the store changes.
  struct Edits: Sendable {
    var head: DatabaseHead
    /// The changed documents as they are afterwards.
    var documents: [Document] = []
    var changes: [DocumentChange] = []
    /// The numbers of changes that are forgotten.
    var forgotten: [Int64] = []
    /// What is remembered of streams of writes; those with nothing are forgotten.
    var streams: [(id: UInt64, record: MapValue?)] = []
  }

  /// Stores changes whole or not at all, as durably as the backend was opened for.
  ///
  /// - Throws: as the backend's commits, and `full` when the store has too many databases for another one.
  func commit(_ edits: Edits) async throws(StoreError) {
    let pair = try await trees.made(for: database, in: backend)
    let puts = edits.documents.map { document -> DocumentEdit in
      document.fields == nil ? .forget(document.path) : .put(document)
    }
    var remembered: [DocumentEdit] = [.put(edits.head.document(at: headPath))]
    for change in edits.changes {
      guard let path = path(ofChange: change.number) else { continue }
      remembered.append(.put(ChangeRecord(change).document(at: path)))
    }
    for number in edits.forgotten {
      guard let path = path(ofChange: number) else { continue }
      remembered.append(.forget(path))
    }
    for (id, record) in edits.streams {
      guard let path = DocumentPath(in: streams, id: DeduplicationLog.name(of: id)) else {
        continue
      }
      remembered.append(record.map { .put(Document(path, .found($0))) } ?? .forget(path))
    }
    try await backend.commit([
      .documents(pair.documents, puts), .documents(pair.memory, remembered),
    ])
  }

  /// Removes the database from the store. It exists until the removal is committed, and is empty
  /// afterwards.
  ///
  /// - Parameter time: as of when it is empty: later than all commits.
  /// - Throws: as the backend's commits.
  func wipe(at time: Timestamp) async throws(StoreError) {
    guard let pair = trees.markRemoving(time) else { return }
    do throws(StoreError) {
      try await backend.commit([.wipe(pair.documents), .wipe(pair.memory)])
    } catch {
      trees.markPresent(pair)
      throw error
    }
  }

  private func path(ofChange number: Int64) -> DocumentPath? {
    DocumentPath(in: changes, id: NumericID.segment(of: number))
  }
}
