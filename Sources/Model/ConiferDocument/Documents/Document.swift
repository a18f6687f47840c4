/// A document's path with what is known of its existence, its fields and the times of its changes.
public struct Document: Sendable, Hashable {
  /// Whether a document exists, with its fields where they are known.
  public enum State: Sendable, Hashable {
    /// Nothing is known.
    case unseen
    /// It exists, with these fields.
    case found(MapValue)
    /// It does not exist.
    case missing
    /// It exists, but its fields are not known.
    case unknown
  }

  /// Whether a document's state holds local writes, and whether the server has accepted them.
  public enum Writes: Sendable, Hashable {
    /// None that the server has not sent back.
    case synced
    /// One that the server has accepted, but not sent back yet.
    case committed
    /// One that the server has not answered.
    case pending
  }

  /// Where the document is.
  public let path: DocumentPath
  /// Whether it exists, and what is in it.
  public let state: State
  /// When the server last changed it; zero when that is not known or a pending write changed it.
  public let version: Timestamp
  /// The read time of the server's answer; zero when there was none.
  public let readTime: Timestamp
  /// When it was created on the server; nil when that is not known.
  public let createTime: Timestamp?
  /// Whether the state holds local writes.
  public let writes: Writes

  /// What is known of a document.
  public init(
    _ path: DocumentPath, _ state: State, version: Timestamp = .zero, readTime: Timestamp = .zero,
    createTime: Timestamp? = nil, writes: Writes = .synced
  ) {
    self.path = path
    self.state = state
    self.version = version
    self.readTime = readTime
    self.createTime = createTime
    self.writes = writes
  }

  /// The fields; none unless the document was found.
  public var fields: MapValue? {
    guard case .found(let fields) = state else { return nil }
    return fields
  }

  /// The value at a field path; for `__name__` a reference to the document.
  ///
  /// - Parameters:
  ///   - field: the path within the document.
  ///   - database: what the reference to the document is made with.
  public func value(at field: FieldPath, in database: DatabaseID) -> DocumentValue? {
    field.isDocumentID ? .reference(DocumentName(path, in: database)) : fields?[field]
  }

  /// Whether another state from the server replaces this one: nothing was known, or the other version
  /// is later, or the versions are equal and this state holds an accepted write. Documents never go
  /// back to an older version.
  public func isReplaced(by other: Document) -> Bool {
    state == .unseen || other.version > version
      || (other.version == version && writes == .committed)
  }

  /// Whether it is what the server said, or waiting writes upon that, and not waiting writes alone.
  var hasServersWord: Bool {
    switch state {
    case .unseen, .unknown: false
    case .found, .missing: writes != .pending || readTime != .zero
    }
  }

  /// The document after a write that the server has not answered.
  ///
  /// The creation time stays that of the server's document, also when the document is deleted and then set: one overlay for both
  /// cannot tell them from a mere set, and only the server will know the new time. The vendor's clients keep it too.
  func pending(_ state: State) -> Document {
    Document(
      path, state, version: .zero, readTime: readTime, createTime: createTime, writes: .pending)
  }

  /// The creation time in another state that the server has accepted; nil when the document did not exist before, or does
  /// not exist then.
  func createTime(in state: State) -> Timestamp? {
    guard fields != nil, case .found = state else { return nil }
    return createTime
  }
}
