import ConiferDocument
import ConiferWire

/// The effect of a commit that has passed all checks.
struct StagedCommit: Sendable {
  let result: CommitResult
  /// The documents that the writes name, as it leaves them, in the order of their first writes.
  let documents: [Document]
  /// Each document that changes, before and after, in the order of their first writes.
  let changes: [(before: Document, after: Document)]
}

/// What a commit did.
struct MadeCommit: Sendable {
  let result: CommitResult
  /// The documents that the writes name, as the commit left them, in the order of their first writes.
  let documents: [Document]
}

/// Finds out what commits that are stored together do, each upon the ones before it.
struct CommitStaging: Sendable {
  let database: DatabaseID
  let access: DocumentAccess
  /// The documents that the commits name, as they are after the commits so far.
  private var documents: [DocumentPath: Document]

  /// - Parameter documents: all documents that the commits name, as they are stored.
  init(_ database: DatabaseID, _ access: DocumentAccess, _ documents: [DocumentPath: Document]) {
    self.database = database
    self.access = access
    self.documents = documents
  }

  /// Stages a commit.
  ///
  /// - Parameters:
  ///   - writes: its writes, in order.
  ///   - time: when it is made: later than all commits before.
  ///   - caller: who makes it.
  /// - Throws: why it is refused; nothing is staged then.
  mutating func stage(
    _ writes: [Mutation], at time: Timestamp, by caller: Caller
  ) throws(StatusError) -> StagedCommit {
    let writes = try checked(writes)
    var present: [DocumentPath: Document] = [:]
    var refusal: StatusError?
    var results: [WriteResult] = []
    var paths: [DocumentPath] = []
    var known: Set<DocumentPath> = []
    for write in writes {
      let before = present[write.path] ?? document(write.path)
      if known.insert(write.path).inserted { paths.append(write.path) }
      if refusal == nil { refusal = write.refusal(on: before) }
      let (after, transformed) = write.stored(on: before, at: time)
      present[write.path] = after
      let updated = after.fields == nil ? nil : after.version
      results.append(WriteResult(updateTime: updated, transforms: transformed))
    }
    // Whoever may not write does not learn what is there.
    try checkAccess(writes, paths, after: present, caller)
    if let refusal { throw refusal }
    var changes: [(before: Document, after: Document)] = []
    for path in paths {
      let before = document(path)
      guard let after = present[path], after.version != before.version,
        after.fields != nil || before.fields != nil
      else { continue }
      do throws(DocumentError) { try after.validateSize() } catch {
        throw StatusError(invalidArgument: error)
      }
      changes.append((before, after))
    }
    documents.merge(present) { $1 }
    return StagedCommit(
      result: CommitResult(commitTime: time, results: results),
      documents: paths.compactMap { present[$0] }, changes: changes)
  }

  /// A document as the commits so far leave it.
  func document(_ path: DocumentPath) -> Document { documents[path] ?? Document(path, .missing) }

  private func checked(_ writes: [Mutation]) throws(StatusError) -> [Mutation] {
    var checked: [Mutation] = []
    for write in writes {
      do throws(DocumentError) { checked.append(try write.checked(in: database)) } catch {
        throw StatusError(invalidArgument: error)
      }
    }
    return checked
  }

  /// - Throws: `invalidArgument` for more writes, or more bytes, than a request may have.
  static func checkSize(_ writes: [Mutation]) throws(StatusError) {
    do throws(DocumentError) { try writes.validateSize() } catch {
      throw StatusError(invalidArgument: error)
    }
  }

  private func checkAccess(
    _ writes: [Mutation], _ paths: [DocumentPath], after: [DocumentPath: Document],
    _ caller: Caller
  ) throws(StatusError) {
    let changed = Set(writes.lazy.filter { $0.change != .verify }.map(\.path))
    for path in paths {
      let before = documents[path]?.fields
      guard changed.contains(path) else {
        try caller.require(.get(path, before), access)
        continue
      }
      try caller.require(.write(path, before: before, after: after[path]?.fields), access)
    }
  }
}

extension StatusError {
  /// Why the server does not take what is malformed or beyond a limit.
  init(invalidArgument error: DocumentError) { self.init(.invalidArgument, error.message) }
}
