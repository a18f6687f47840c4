package import ConiferDocument
package import ConiferWire

/// Where an app wants a document or the documents of a query from, once.
package enum GetSource: Sendable, Hashable {
  /// The server; the cache when it cannot be reached.
  case `default`
  /// The server only.
  case server
  /// The cache only.
  case cache

  /// What a get listens with until the first event; the cache is read without a listen.
  package static let listenOptions = ListenOptions(
    includesMetadataChanges: true, waitsForSyncWhenOnline: true)

  /// The answer to a get of one document, from the store.
  ///
  /// - Returns: the document, found or missing.
  /// - Throws: `unavailable` when it is not known whether it exists, or what its fields are.
  package static func cached(_ document: Document) throws(StatusError) -> Document {
    switch document.state {
    case .found, .missing: return document
    case .unseen, .unknown:
      throw StatusError(
        .unavailable,
        "\(document.path) is not in the cache. Get it from the server, which may have it.")
    }
  }

  /// The answer to a get of one document, from the first event of a listen.
  ///
  /// - Returns: the document, found or missing.
  /// - Throws: `unavailable` when the server had to be asked and cannot be reached.
  package func document(
    _ path: DocumentPath, in snapshot: ViewSnapshot
  ) throws(StatusError) -> Document {
    guard let document = snapshot.documents[path] else {
      if snapshot.isFromCache {
        throw StatusError(
          .unavailable,
          "\(path) could not be got: the client is offline. Try again when it is online.")
      }
      return Document(path, .missing)
    }
    if self == .server && snapshot.isFromCache {
      throw StatusError(
        .unavailable,
        "\(path) could not be got from the server: the client is offline. The cache has it: get it "
          + "with another source.")
    }
    return document
  }

  /// The answer to a get of a query, from the first event of a listen, or of a view of the cache.
  ///
  /// - Throws: `unavailable` when the server had to be asked and cannot be reached.
  package func documents(in snapshot: ViewSnapshot) throws(StatusError) -> ViewSnapshot {
    if self == .server && snapshot.isFromCache {
      throw StatusError(
        .unavailable,
        "The query could not be got from the server: the client is offline. Get what the cache has "
          + "with another source.")
    }
    return snapshot
  }
}
