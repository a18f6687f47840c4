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

// A server reads its documents from no other server, so it does not need `readTime`. It keeps the
// creation time there.
extension Document {
  /// A document as the server stores it.
  init(_ path: DocumentPath, _ fields: MapValue, made: Timestamp, changed: Timestamp) {
    self.init(path, .found(fields), version: changed, readTime: made)
  }

  /// When a stored document was made. The name differs from `createTime`, which the server leaves out.
  var creationTime: Timestamp { readTime }

  /// The stored document as clients are told it at a moment.
  func told(at moment: Timestamp) -> Document {
    Document(
      path, state, version: fields == nil && version == .zero ? moment : version, readTime: moment)
  }
}
