import ConiferDocument
import ConiferWire

/// What a transaction has read and is to write; each attempt has one of its own.
struct TransactionState: Sendable {
  private enum Stage {
    case open
    /// Something was invalid, or what was read changed: it cannot be committed, even if the app passes
    /// over the error.
    case failed(FirestoreError)
    /// It was committed or given up.
    case ended
  }

  private var stage = Stage.open
  /// The versions of what was read; zero for what was missing.
  private var versions: [DocumentPath: ConiferDocument.Timestamp] = [:]
  private var writes: [Mutation] = []
  private var written: Set<DocumentPath> = []
  /// Errors of reads that may succeed when the transaction runs again.
  private var readFailures: [FirestoreError] = []

  /// Checks that a read makes sense.
  ///
  /// - Throws: why it does not: `invalidArgument` after a write, `failedPrecondition` after the end, and what
  ///   the transaction failed with before.
  mutating func beginRead(
    _ target: Result<DocumentPath, FirestoreError>
  ) throws(FirestoreError) -> DocumentPath {
    switch stage {
    case .open: break
    case .failed(let error): throw error
    case .ended: throw Self.endedError
    }
    do throws(FirestoreError) {
      guard writes.isEmpty else {
        throw FirestoreError(
          .invalidArgument,
          "A transaction read after it had written. Read all documents first, then write.")
      }
      return try target.get()
    } catch {
      stage = .failed(error)
      throw error
    }
  }

  /// Takes in what the server says of a document.
  ///
  /// - Throws: `aborted` when the document changed since it was read before; `failedPrecondition` after the
  ///   end.
  mutating func read(_ document: Document) throws(FirestoreError) {
    if case .ended = stage { throw Self.endedError }
    let version: ConiferDocument.Timestamp = document.fields == nil ? .zero : document.version
    if let earlier = versions[document.path], earlier != version {
      let error = FirestoreError(
        .aborted, "\(document.path) changed between two reads of a transaction. Run it again.")
      readFailed(error)
      fail(error)
      throw error
    }
    versions[document.path] = version
  }

  /// Keeps the error of a read, so that it is recognized when the app passes it on.
  mutating func readFailed(_ error: FirestoreError) { readFailures.append(error) }

  /// Whether an error that ended the app's function is that of a read, which Foundation's form of errors
  /// may have copied, rather than the app's own.
  func isReadError(_ error: FirestoreError) -> Bool {
    readFailures.contains { $0.code == error.code && $0.message == error.message }
  }

  /// Adds a write, or keeps the error of an invalid one for ``end()``.
  ///
  /// - Throws: `failedPrecondition` after the end.
  mutating func add(
    _ made: Result<Mutation, FirestoreError>, isUpdate: Bool
  ) throws(FirestoreError) {
    if case .ended = stage { throw Self.endedError }
    do throws(FirestoreError) {
      let mutation = try made.get()
      writes.append(
        Mutation(
          mutation.path, mutation.change,
          if: try precondition(for: mutation.path, isUpdate: isUpdate) ?? mutation.precondition))
      written.insert(mutation.path)
    } catch {
      fail(error)
    }
  }

  /// Ends the transaction: it takes no more calls.
  ///
  /// - Returns: what is to be committed: the writes, and what holds the documents that were only read as they
  ///   were.
  /// - Throws: what it failed with, such as a write that is invalid.
  @discardableResult
  mutating func end() throws(FirestoreError) -> [Mutation] {
    defer { stage = .ended }
    switch stage {
    case .open: break
    case .failed(let error): throw error
    case .ended: throw Self.endedError
    }
    let onlyRead = versions.filter { !written.contains($0.key) }.sorted { $0.key < $1.key }
    return writes
      + onlyRead.map { Mutation($0.key, .verify, if: Self.precondition(of: $0.value)) }
  }

  /// The first failure counts.
  private mutating func fail(_ error: FirestoreError) {
    if case .open = stage { stage = .failed(error) }
  }

  private static let endedError = FirestoreError(
    .failedPrecondition,
    "The transaction has ended: it is used within its function alone. Run another one.")

  /// The precondition of the first write to a document that was read; nil when no read concerns it.
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
  var isRetryableInTransaction: Bool {
    switch code {
    case .aborted, .alreadyExists, .failedPrecondition: true
    default: !(StatusCode(rawValue: code.rawValue)?.isPermanent ?? true)
    }
  }
}
