public import ConiferDocument

/// A document that exists on the server, with its fields and the times of its creation and last
/// change.
public struct StoredDocument: Sendable, Hashable {
  /// Where it is.
  public let path: DocumentPath
  /// What is in it.
  public let fields: MapValue
  /// When it was made; a document that was deleted and made again has a new time.
  public let createTime: Timestamp
  /// When it was last changed: its version.
  public let updateTime: Timestamp

  /// The document of a store; nil when it does not exist.
  init?(_ stored: Document) {
    guard let fields = stored.fields else { return nil }
    path = stored.path
    self.fields = fields
    createTime = stored.creationTime
    updateTime = stored.version
  }
}

extension Document {
  /// A document as the server stores it; no other server told it.
  init(_ path: DocumentPath, _ fields: MapValue, made: Timestamp, changed: Timestamp) {
    self.init(path, .found(fields), version: changed, createTime: made)
  }

  /// When a stored document was made. Servers before the first release have stored that as `readTime`.
  var creationTime: Timestamp { createTime ?? readTime }

  /// The stored document as requests are answered with it: with the time when it was made.
  var answered: Document {
    Document(
      path, state, version: version, readTime: readTime,
      createTime: fields == nil ? nil : creationTime)
  }

  /// The stored document as clients are told it at a moment.
  func told(at moment: Timestamp) -> Document {
    Document(
      path, state, version: fields == nil && version == .zero ? moment : version, readTime: moment,
      createTime: fields == nil ? nil : creationTime)
  }
}
