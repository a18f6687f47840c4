package import ConiferDocument
package import ConiferWire

/// The number of a listener; the caller gives it.
package typealias ListenerID = UInt64

/// The number of a view; later ones are greater.
package typealias ViewNumber = TargetID

/// What the store holds for a query when a listen begins.
package struct StoredQuery: Sendable {
  /// The documents that match, with the writes that wait.
  package let documents: [Document]
  /// The documents that the server said match.
  package let matched: MatchedPaths
  /// The token from which the server resumes; empty if it never answered the query.
  package let resumeToken: [UInt8]
  /// The server time as of which the store has the query's data.
  package let version: Timestamp

  /// What a store has.
  package init(
    documents: [Document] = [], matched: MatchedPaths = [], resumeToken: [UInt8] = [],
    version: Timestamp = .zero
  ) {
    self.documents = documents
    self.matched = matched
    self.resumeToken = resumeToken
    self.version = version
  }
}

/// What the listens of a client ask for.
package enum SyncAction: Sendable {
  // MARK: The stream

  /// The stream of listens is to be opened, as soon as its back-off allows.
  case openStream
  /// The stream of listens is idle.
  case idle
  /// A target is to be added on the stream.
  case add(WatchTarget)
  /// A target is to be removed on the stream.
  case remove(TargetID)

  // MARK: The store

  /// The store is to take in what the server said; then `stored` is called.
  case store(RemoteEvent)
  /// The query's documents are to be read anew; then `refilled` is called.
  case read(DocumentQuery)
  /// Nobody listens to a target any more, or the server refused it.
  case release(DocumentTarget)

  // MARK: The app

  /// A listener is to be told what its query, which has this target, gives.
  case tell(ListenerID, ViewSnapshot, TargetID)
  /// A listener has ended.
  case fail(ListenerID, StatusError)
  /// The app's log is to be told that the server cannot be reached, and why.
  case warnOffline(StatusError)
  /// The app's log is to be told of something that the server said and that is passed over.
  case log(WatchFault)
}
