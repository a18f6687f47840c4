public import ConiferDocument
import ConiferKeyValue

/// One change of a tree's cached documents, of the matches of its queries, or of its indexes.
public enum DocumentEdit: Sendable {
  /// Stores what the server said of a document, which may be that it is missing; it replaces what
  /// was known before.
  ///
  /// The caller checks that the server's word is newer than what is stored
  /// (`Document.isReplaced(by:)`). A document of which nothing is known and one that holds pending
  /// writes are refused as `invalid`.
  case put(Document)
  /// Forgets what the server said of a document.
  case forget(DocumentPath)
  /// Replaces the set of documents that the server says a query matches.
  case setMatches(QueryID, [DocumentPath])
  /// Adds to and removes from the set of documents that the server says a query matches.
  case updateMatches(QueryID, added: [DocumentPath], removed: [DocumentPath])
  /// Stores the time at which a query's matches were complete, after the commit's other edits: each
  /// stored document that was read by then and belongs to the query's result is among the matches.
  /// Nil when no time is known.
  ///
  /// The query may then be answered from its matches (`DocumentView.query(_:_:tracked:)`). The
  /// version is forgotten when matches are removed or replaced, unless the same commit stores it
  /// again afterwards, and when a document is stored that was read by then. It is not stored when
  /// the backend does not know which documents were read later. A source that is not the query's,
  /// and a document's query, are refused as `invalid`.
  case setMatchesVersion(QueryID, MatchesVersion?)
  /// Replaces the declared indexes of the tree by these; indexes that are already declared stay as
  /// they are.
  ///
  /// A backend builds new ones from the documents there are, in slices between commits, and keeps them in the
  /// commits that change documents. Refused as `unsupported` by a store that is encrypted, since values stand in
  /// the keys of an index.
  case setIndexes([DocumentIndex])
  /// Declares indexes beside those that are declared, such as ``DocumentAnswer/worthwhileIndex``; otherwise as `setIndexes`.
  case addIndexes([DocumentIndex])
}
