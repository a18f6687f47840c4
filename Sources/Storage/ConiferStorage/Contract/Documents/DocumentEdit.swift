public import ConiferDocument
import ConiferKeyValue

/// One change of a tree's cached documents, of the matches of its queries, or of its indexes.
public enum DocumentEdit: Sendable {
  /// Stores what the server said of a document, be it that it is missing; whatever was known before goes.
  ///
  /// Whether the server's word is newer than what is stored is for the caller to see (`Document.isReplaced(by:)`). Refused as
  /// `invalid` for a document of which nothing is known and for one that holds pending writes.
  case put(Document)
  /// Forgets what the server said of a document.
  case forget(DocumentPath)
  /// Replaces the set of documents that the server says a query matches.
  case setMatches(QueryID, [DocumentPath])
  /// Adds to and removes from the set of documents that the server says a query matches.
  case updateMatches(QueryID, added: [DocumentPath], removed: [DocumentPath])
  /// Stores the time as of which a query's matches are complete, once the commit's other edits are done: what the query
  /// gives of the stored documents that were read by then is among them. Nil when no time is known.
  ///
  /// The query is answered from its matches then (`DocumentView.query(_:_:tracked:)`). The version is forgotten when
  /// matches are removed or replaced, unless the same commit says it again behind them, and when a document is stored
  /// that was read by then; and it is not stored where the backend does not know which documents were read later.
  /// Refused as `invalid` for a source that is not the query's, and for a document's query.
  case setMatchesVersion(QueryID, MatchesVersion?)
  /// Makes the declared indexes of the tree be exactly these; declaring what is declared changes nothing.
  ///
  /// A backend builds new ones from the documents there are, in slices between commits, and keeps them in the
  /// commits that change documents. Refused as `unsupported` by a store that is encrypted, since values stand in
  /// the keys of an index.
  case setIndexes([DocumentIndex])
  /// Declares indexes beside those that are declared, such as ``DocumentAnswer/worthwhileIndex``; otherwise as `setIndexes`.
  case addIndexes([DocumentIndex])
}
