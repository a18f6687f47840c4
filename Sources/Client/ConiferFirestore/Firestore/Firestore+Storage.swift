import ConiferEngine
import ConiferKeyValue
public import ConiferStorage

// What is kept on the device for the database: how much, why, and whether it is sound. All of it may be asked
// while the database is used; what is asked while it is suspended waits until it is resumed, and what is under way when
// it is suspended is asked again then. Each call throws `cancelled` when the waiting task is. The Apple SDK has nothing
// like it.
extension Firestore {
  /// The bytes that the storage takes, by what they hold, and its budget.
  ///
  /// They are those of all databases in the storage.
  ///
  /// - Throws: what the storage does, also that it does not tell; `failedPrecondition` after ``terminate()``.
  public func space() async throws(FirestoreError) -> StorageSpace {
    try await asking { (asked) throws(StoreError) in try asked.space() }
  }

  /// How the cache finds the documents of a query, what that costs, and which index would spare most of it.
  ///
  /// The query is answered once for that, from the cache alone.
  ///
  /// - Throws: why the query is invalid; what the storage does; `failedPrecondition` after ``terminate()``.
  public func explain(_ query: Query) async throws(FirestoreError) -> DocumentExplanation {
    let model = try query.checked()
    let id = try await ask { (engine) throws(FirestoreError) in
      try await engine.trackedQuery(model)
    }
    return try await asking { (asked) throws(StoreError) in
      try asked.backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
        try view.query(asked.lane, model, tracked: id).explanation
      }
    }
  }

  /// Makes the cache smaller at once, as the cache size does by itself: what no listener needed goes first, then what was
  /// not listened to for the longest time. What is listened to or kept synced, and documents with waiting writes, stay. The
  /// report names the queries of all databases in the storage.
  ///
  /// - Parameters:
  ///   - bytes: to how many bytes of the medium; nil for 90 % of the cache size.
  ///   - dryRun: whether to change nothing, and only tell what would go.
  /// - Throws: what the storage does, also for a negative number, and for nil without a cache size;
  ///   `failedPrecondition` after ``terminate()``.
  public func evict(
    to bytes: Int? = nil, dryRun: Bool = false
  ) async throws(FirestoreError) -> EvictionReport {
    try await asking { (asked) throws(StoreError) in
      try await asked.evict(to: bytes, dryRun: dryRun)
    }
  }

  /// Reads all that is stored, and checks it against every checksum and every rule of its records; changes nothing.
  ///
  /// It takes as long as reading the files does, on a thread of its own; writes go on meanwhile, and the storage reuses no
  /// space, so that its files may grow. Damage is in the report and no error.
  ///
  /// - Throws: what the storage does, also that it cannot check itself; `failedPrecondition` after ``terminate()``.
  public func verify() async throws(FirestoreError) -> VerificationReport {
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
  /// - Throws: what the storage does; `failedPrecondition` after ``terminate()``.
  public func incidents(
    needingCare: Bool = false, after position: IncidentPosition = IncidentPosition(),
    limit: Int = 100
  ) async throws(FirestoreError) -> IncidentWindow {
    try await asking { (asked) throws(StoreError) in
      try asked.incidents(needingCare: needingCare, after: position, limit: limit)
    }
  }

  /// Remembers, across restarts, that reports of writes which were set aside need no more care, since what they were to do was
  /// done in another way; the reports stay, with their bytes. Other reports need no care, and are passed over.
  ///
  /// - Throws: what the storage does; `failedPrecondition` after ``terminate()``.
  public func acknowledge(_ incidents: [Incident]) async throws(FirestoreError) {
    try await asking { (asked) throws(StoreError) in try await asked.acknowledge(incidents) }
  }

  /// Asks the storage, once it is open.
  ///
  /// - Throws: what the question throws; why the storage is not open.
  func asking<R: Sendable>(
    _ question: @escaping @Sendable (StorageQuestions) async throws(StoreError) -> R
  ) async throws(FirestoreError) -> R {
    try await ask { (engine) throws(FirestoreError) in
      do throws(DatabaseError) {
        return try await StorageQuestions.ask(engine.storage, question)
      } catch { throw FirestoreError(error) }
    }
  }
}
