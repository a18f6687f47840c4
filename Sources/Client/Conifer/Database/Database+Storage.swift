import ConiferEngine
import ConiferKeyValue
import ConiferQuery
public import ConiferStorage
import ConiferTree

// What is kept on the device for the database: how much, why, and whether it is sound. All of it may be asked
// while the database is used; what is asked while it is suspended waits until it is resumed, and what is under way when
// it is suspended is asked again then. Each call throws `cancelled` when the waiting task is.
extension Database {
  /// The bytes that the storage takes, by what they hold, and its budget.
  ///
  /// They are those of all databases in the storage.
  ///
  /// - Throws: `storageFailure` for a storage that does not tell; what the storage does; `closed`.
  public func space() async throws(DatabaseError) -> StorageSpace {
    try await asking { (asked) throws(StoreError) in try asked.space() }
  }

  /// What is kept at and below a place takes, why it is kept, and when it would be evicted.
  ///
  /// - Parameter reference: the place, of this database.
  /// - Throws: why the reference is invalid; `storageFailure` for a storage that does not tell; what the storage does;
  ///   `closed`.
  public func space(
    at reference: DatabaseReference
  ) async throws(DatabaseError) -> SpaceExplanation {
    if let error = reference.error { throw error }
    let path = reference.path
    return try await asking { (asked) throws(StoreError) in
      let (backend, tree) = (try asked.backend.evicting(), asked.lane.tree)
      if asked.isEmpty { return SpaceExplanation(tree: tree, path: path, fate: .absent) }
      return try backend.explain(tree, path)
    }
  }

  /// How the cache finds what a query asks for, what that costs, and whether it has all of it.
  ///
  /// The query is answered once for that, from the cache alone and without waiting writes.
  ///
  /// - Throws: why the query is invalid; what the storage does; `closed`.
  public func explain(
    _ query: DatabaseQuery
  ) async throws(DatabaseError) -> DatabaseQueryExplanation {
    if let error = query.error { throw error }
    let target = query.target
    return try await asking { (asked) throws(StoreError) in
      if asked.isEmpty {
        return DatabaseQueryExplanation(isComplete: true, lookup: QueryExplanation(.keys))
      }
      let (tree, spec) = (asked.lane.tree, target.spec.normalized)
      return try asked.backend.read { (view) throws(StoreError) in
        // No `||`: its second operand throws no typed error.
        let isComplete =
          asked.backend.traits.role == .authority
          ? true : try view.isComplete(tree, target.path, spec.identifier)
        return DatabaseQueryExplanation(
          isComplete: isComplete, lookup: try view.query(tree, target.path, spec).explanation)
      }
    }
  }

  /// Makes the cache smaller at once, as the budget does by itself: what nothing covers goes first, then what was not
  /// listened to for the longest time. What is listened to or kept synced, and waiting writes, stay. The report names the
  /// queries of all databases in the storage.
  ///
  /// - Parameters:
  ///   - bytes: to how many bytes of the medium; nil for 90 % of the budget.
  ///   - dryRun: whether to change nothing, and only tell what would go.
  /// - Throws: `storageFailure` for a negative number, for nil without a budget, and for a storage that does not evict;
  ///   what the storage does; `closed`.
  public func evict(
    to bytes: Int? = nil, dryRun: Bool = false
  ) async throws(DatabaseError) -> EvictionReport {
    try await asking { (asked) throws(StoreError) in
      try await asked.evict(to: bytes, dryRun: dryRun)
    }
  }

  /// Forgets what the cache holds at and below a place, as if it had never been read: reading it offline fails, until the
  /// server has been asked again.
  ///
  /// So does reading a place or query above that held some of it, also for what else is there, which stays cached. Waiting
  /// and refused writes stay, and show over what is unknown. What the server answers or acknowledges from then on is cached
  /// again.
  ///
  /// ``evict(to:dryRun:)`` passes over what is listened to or kept synced; this is refused while something has any of the
  /// place, and forgets nothing then: a listener or transaction at it, below or above, except a query above whose result
  /// lacks it, and a `keepSynced` at it, below or above. Otherwise all of it is forgotten at once, and once the call returns
  /// no end of the process brings it back, nor a loss of power as far as the storage survives that. The bytes on the medium
  /// are free for other data, and are not overwritten.
  ///
  /// - Parameter reference: the place, of this database.
  /// - Throws: `inUse`; why the reference is invalid, `readOnly` for one in `.info`; `storageFailure` for a database without
  ///   a server, whose storage is the only copy; what the storage does; `closed`; `cancelled`, when the waiting task is: the
  ///   place is forgotten all the same.
  public func clear(at reference: DatabaseReference) async throws(DatabaseError) {
    let path = try clearable(reference)
    let commit = try await engine.clear(path)
    try await asking { (asked) throws(StoreError) in try await asked.backend.harden(commit) }
  }

  /// The place of a reference, of which the cache may be told to forget what it holds.
  private func clearable(_ reference: DatabaseReference) throws(DatabaseError) -> Path {
    if let error = reference.error { throw error }
    let path = reference.path
    guard reference.database === self else {
      throw DatabaseError(
        .invalidURL, "\(reference.url) is of another database than \(self).",
        remedy: "Make the reference with the database whose cache is meant.")
    }
    guard path.first != .info else {
      throw DatabaseError(.readOnly, "\(path) is the client's own: no cache holds it.")
    }
    guard configuration.localAuthority == nil else {
      throw DatabaseError(
        .storageFailure,
        "\(path) is not forgotten: this database has no server, and its data is the only copy.",
        remedy: "Delete data with removeValue().")
    }
    return path
  }

  /// Reads all that is stored, and checks it against every checksum and every rule of its records; changes nothing.
  ///
  /// It takes as long as reading the files does, on a thread of its own; writes go on meanwhile, and the storage reuses no
  /// space, so that its files may grow. Damage is in the report and no error.
  ///
  /// - Throws: `storageFailure` for a storage that cannot check itself; what the storage does; `closed`.
  public func verify() async throws(DatabaseError) -> VerificationReport {
    try await asking { (asked) throws(StoreError) in try asked.verify() }
  }

  /// A window of the reports of damage that the storage has met since it was made, by what was done about it: dropped, set
  /// aside with its bytes, or left. It begins with the oldest of a database; those of writes that were set aside are its last.
  ///
  /// They are those of all databases in the storage and of all users. The window's `end` is where the next one begins, if it
  /// `hasMore`: it has fewer than `limit` when their bytes reach 1 MiB before. Of a database at most 256 reports are kept, besides those of writes that
  /// were set aside, which all stay, with their bytes.
  ///
  /// - Parameters:
  ///   - needingCare: whether to give only reports of writes that were set aside and that nobody has acknowledged.
  ///   - position: the end of the window before; the beginning, unless another is given.
  ///   - limit: the most reports to give, 1 at least.
  /// - Throws: what the storage does; `closed`.
  public func incidents(
    needingCare: Bool = false, after position: IncidentPosition = IncidentPosition(),
    limit: Int = 100
  ) async throws(DatabaseError) -> IncidentWindow {
    try await asking { (asked) throws(StoreError) in
      try asked.incidents(needingCare: needingCare, after: position, limit: limit)
    }
  }

  /// Remembers, across restarts, that reports of writes which were set aside need no more care, since what they were to do was
  /// done in another way; the reports stay, with their bytes. Other reports need no care, and are passed over.
  ///
  /// - Throws: what the storage does; `closed`.
  public func acknowledge(_ incidents: [Incident]) async throws(DatabaseError) {
    try await asking { (asked) throws(StoreError) in try await asked.acknowledge(incidents) }
  }

  private func asking<R: Sendable>(
    _ question: @escaping @Sendable (StorageQuestions) async throws(StoreError) -> R
  ) async throws(DatabaseError) -> R {
    try await StorageQuestions.ask(engine.storage, question)
  }
}

/// How the cache answers a query.
public struct DatabaseQueryExplanation: Sendable, Hashable, CustomStringConvertible {
  /// Whether the cache has all that the query asks for, as the server once said it.
  public let isComplete: Bool
  /// How its children were found, and what that took; its `hint` is the index that would spare most of it.
  public let lookup: QueryExplanation

  /// Both in one line.
  public var description: String { "\(isComplete ? "complete" : "not complete"); \(lookup)" }
}
