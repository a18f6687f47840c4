import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import Foundation

/// Copies all documents of a database without a server to another database, page by page.
struct DocumentCopy {
  /// How often a page is tried.
  private static let mostAttempts = 5
  /// For how many seconds a queue may wait without an answer to one of its writes.
  private static let patience = 10.0

  private let source: Firestore
  private let target: Firestore
  private let existing: ExistingData
  private let tell: (@Sendable (CopyProgress) -> Void)?
  private var progress = CopyProgress(total: 0)
  /// As whom all is written.
  private let user = TransactionUser()

  init(
    from source: Firestore, to target: Firestore, _ existing: ExistingData,
    tell: (@Sendable (CopyProgress) -> Void)?
  ) {
    self.source = source
    self.target = target
    self.existing = existing
    self.tell = tell
  }

  /// Copies, and returns when the server has all.
  mutating func run() async throws(FirestoreError) -> CopyProgress {
    try await drain(source, "this database")
    try await awaitQueue()
    var pages = CopyPages()
    while true {
      let count = try await next(&pages).count
      if count == 0 { break }
      progress.total += count
    }
    pages = CopyPages()
    while true {
      let page = try await next(&pages)
      if page.isEmpty { return progress }
      try await copy(page)
      tell?(progress)
    }
  }

  /// Waits until the server has answered what was written to the other database before, which would count as missing, or
  /// replace what is copied.
  private func awaitQueue() async throws(FirestoreError) {
    guard try await !target.pendingWrites(limit: 1).isEmpty else { return }
    // Something small, to know that there is a connection.
    guard let path = try? DocumentPath("conifer/copy") else { return }
    do throws(FirestoreError) { _ = try await find([path]) } catch {
      // It need not be readable.
      guard error.code == .permissionDenied else { throw error }
    }
    try await drain(target, "the other database")
  }

  /// Waits until a queue is empty, as long as its writes are answered.
  private func drain(_ firestore: Firestore, _ name: String) async throws(FirestoreError) {
    var left = Int.max
    while left > 0 {
      let now = try await firestore.drain(until: Date(timeIntervalSinceNow: Self.patience)).pending
      guard now < left else {
        throw FirestoreError(
          .unavailable,
          "\(now) writes wait in the queue of \(name), and none was answered for ten seconds. Enable its network, then "
            + "copy again.")
      }
      left = now
    }
  }

  private func next(_ pages: inout CopyPages) async throws(FirestoreError) -> [Document] {
    let before = pages
    let (page, after) = try await source.asking { (asked) throws(StoreError) in
      var pages = before
      let page = try asked.backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
        try pages.next(view, asked.lane.tree)
      }
      return (page, pages)
    }
    pages = after
    return page
  }

  private func find(_ paths: [DocumentPath]) async throws(FirestoreError) -> [Document] {
    try await target.ask { [user] (engine) throws(FirestoreError) in
      try await engine.lookup(paths, user)
    }
  }

  /// Copies a page; after a failure, what it does not have yet.
  private mutating func copy(_ page: [Document]) async throws(FirestoreError) {
    var missing = page
    var backoff = StreamBackoff()
    for attempt in 1... {
      do throws(FirestoreError) {
        if !missing.isEmpty { try await write(missing) }
        progress.copied += missing.count
        progress.kept += page.count - missing.count
        return
      } catch {
        guard error.isRetryableInTransaction, !user.hasChanged, attempt < Self.mostAttempts else {
          throw error
        }
        switch error.code {
        case .alreadyExists, .failedPrecondition: break
        default: try await target.pause(&backoff)
        }
      }
      if existing == .keep { missing = try await self.missing(of: page) }
    }
  }

  /// The documents that the server does not have.
  private func missing(of page: [Document]) async throws(FirestoreError) -> [Document] {
    let there = Set(try await find(page.map(\.path)).lazy.filter { $0.fields != nil }.map(\.path))
    return page.filter { !there.contains($0.path) }
  }

  /// Makes documents, whole or not at all.
  private func write(_ documents: [Document]) async throws(FirestoreError) {
    let (own, other) = (source.database, target.database)
    let writes = documents.map { document in
      Mutation(
        document.path,
        .set((document.fields ?? .empty).leading(from: own, to: other), []),
        if: existing == .keep ? .exists(false) : .none)
    }
    try await target.ask { [user] (engine) throws(FirestoreError) in
      try await engine.commit(writes, user)
    }
  }
}

extension MapValue {
  /// The map with its references to documents of one database leading to those of another.
  fileprivate func leading(from own: DatabaseID, to other: DatabaseID) -> MapValue {
    MapValue(fields.map { Field($0.name, $0.value.leading(from: own, to: other)) })
  }
}

extension DocumentValue {
  fileprivate func leading(from own: DatabaseID, to other: DatabaseID) -> DocumentValue {
    switch self {
    case .reference(let name) where name.database == own:
      .reference(DocumentName(name.path, in: other))
    case .map(let fields): .map(fields.leading(from: own, to: other))
    case .array(let values): .array(values.map { $0.leading(from: own, to: other) })
    default: self
    }
  }
}
