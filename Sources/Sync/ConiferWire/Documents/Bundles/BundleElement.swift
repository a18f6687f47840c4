package import ConiferDocument

/// One part of a bundle: documents and queries that a server has written down for clients to take in.
package enum BundleElement: Sendable, Hashable {
  /// What the bundle is; the first element, and no other.
  package struct Metadata: Sendable, Hashable {
    /// Which bundle it is, in all its versions.
    package var id = ""
    /// When it was made; a newer one replaces it.
    package var createTime = Timestamp.zero
    /// How many documents it holds.
    package var documents = 0
    /// How many bytes come behind this element.
    package var bytes = 0
  }

  /// A query with a name.
  package struct NamedQuery: Sendable, Hashable {
    /// The name.
    package var name: String
    /// As of when the bundle has the query's documents.
    package var readTime: Timestamp
    /// The query.
    package var query: DocumentQuery
  }

  /// What a document is to the bundle; the document itself follows if it exists.
  package struct DocumentMetadata: Sendable, Hashable {
    /// The document.
    package var name: DocumentName
    /// As of when it is in the bundle.
    package var readTime: Timestamp
    /// Whether it exists.
    package var exists: Bool
    /// The names of the queries that give it.
    package var queries: [String]
  }

  /// What the bundle is.
  case metadata(Metadata)
  /// A query with a name.
  case namedQuery(NamedQuery)
  /// What the next document is, or one that is missing.
  case documentMetadata(DocumentMetadata)
  /// A document, and when the server changed it last.
  case document(DocumentName, MapValue, updateTime: Timestamp)
}
