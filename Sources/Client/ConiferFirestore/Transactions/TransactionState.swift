import ConiferDocument
import ConiferWire

/// What a transaction has read and is to write; each attempt has one of its own.
struct TransactionState: Sendable {
  /// The versions of what was read; zero for what was missing.
  private var versions: [DocumentPath: ConiferDocument.Timestamp] = [:]
  private var writes: [Mutation] = []
  private var written: Set<DocumentPath> = []
  /// The first thing that makes no sense, of calls that cannot tell it.
  private var fault: FirestoreError?

  /// Checks that reading is allowed.
  ///
  /// - Throws: `invalidArgument` after a write.
  func checkReading() throws(FirestoreError) {
    guard writes.isEmpty else {
      throw FirestoreError(
        .invalidArgument,
        "A transaction read after it had written. Read all documents first, then write.")
    }
  }

  /// Takes in what the server says of a document.
  ///
  /// - Throws: `aborted` when the document changed since it was read before.
  mutating func read(_ document: Document) throws(FirestoreError) {
    let version: ConiferDocument.Timestamp = document.fields == nil ? .zero : document.version
    if let earlier = versions[document.path], earlier != version {
      throw FirestoreError(
        .aborted, "\(document.path) changed between two reads of a transaction. Run it again.")
    }
    versions[document.path] = version
  }

  /// Adds a write, or keeps why it makes no sense for ``mutations()``.
  mutating func add(_ made: Result<Mutation, FirestoreError>, isUpdate: Bool) {
    do throws(FirestoreError) {
      let mutation = try made.get()
      writes.append(
        Mutation(
          mutation.path, mutation.change,
          if: try precondition(for: mutation.path, isUpdate: isUpdate) ?? mutation.precondition))
      written.insert(mutation.path)
    } catch {
      fault = fault ?? error
    }
  }

  /// What is to be committed: the writes, and what holds the documents that were only read as they were.
  ///
  /// - Throws: why a write makes no sense.
  func mutations() throws(FirestoreError) -> [Mutation] {
    if let fault { throw fault }
    let onlyRead = versions.filter { !written.contains($0.key) }.sorted { $0.key < $1.key }
    return writes
      + onlyRead.map { Mutation($0.key, .verify, if: Self.precondition(of: $0.value)) }
  }

  /// What must be so for the first write to a document that was read; nil where nothing of the reads says.
  private func precondition(
    for path: DocumentPath, isUpdate: Bool
  ) throws(FirestoreError) -> Precondition? {
    guard !written.contains(path), let version = versions[path] else { return nil }
    if isUpdate, version == .zero {
      throw FirestoreError(
        .invalidArgument,
        "A transaction updates \(path), which does not exist. Use setData to make it.")
    }
    return Self.precondition(of: version)
  }

  private static func precondition(of version: ConiferDocument.Timestamp) -> Precondition {
    version == .zero ? .exists(false) : .updateTime(version)
  }
}

extension FirestoreError {
  /// Whether a transaction that failed so may succeed when it is run again.
  var letsTransactionTryAgain: Bool {
    switch code {
    case .aborted, .alreadyExists, .failedPrecondition: true
    default: !(StatusCode(rawValue: code.rawValue)?.isPermanent ?? true)
    }
  }
}
