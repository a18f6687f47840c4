public import ConiferDocument

/// The documents that a query gives, with an explanation of how they were found.
public struct DocumentAnswer: Sendable {
  /// The documents, in the query's order.
  public var documents: [Document]
  /// The explanation of how they were found.
  public var explanation: DocumentExplanation

  /// The documents that a query gives.
  public init(_ documents: [Document], _ explanation: DocumentExplanation) {
    self.documents = documents
    self.explanation = explanation
  }

  /// The index that a client may declare automatically: the explanation's hint, when at least 100
  /// documents were read for the query, and more than 3.4 times as many as it returns. The vendor's
  /// SDK for Apple systems has the same rule.
  public var worthwhileIndex: DocumentIndex? {
    let read = explanation.documentsRead
    return read >= 100 && read * 10 > documents.count * 34 ? explanation.hint : nil
  }
}

/// An explanation of how a query of documents was answered, and what that cost.
public struct DocumentExplanation: Hashable, Sendable {
  /// The way in which a query found its documents, such as a scan or an index.
  public enum Plan: Hashable, Sendable {
    /// All stored documents of so many collections were looked at.
    case scan(collections: Int)
    /// Documents were asked for by name.
    case document
    /// The documents that the tracked query matched were looked at, and those that were read since.
    case matches
    /// The entries of these indexes were read, and the documents that they name; indexes whose entries were
    /// joined stand together.
    case indexes([[DocumentIndex]])
  }

  /// The reason why no index can serve a query, such as that the store is encrypted.
  public enum Obstacle: Hashable, Sendable {
    /// The store is encrypted and keeps no indexes: the values in their keys would be readable.
    case encryption
    /// The path of the query's collection takes so many bytes in the keys of an index, and fewer have room there.
    case longPath(bytes: Int, most: Int)
  }

  /// The way in which the query found its documents.
  public var plan: Plan
  /// How many stored documents were looked at. Of most that do not match, only the fields that the
  /// query compares are read.
  public var documentsRead = 0
  /// How many of them were decoded with all of their fields.
  public var documentsDecoded = 0
  /// How many entries of indexes were read.
  public var indexEntries = 0
  /// Whether all found documents had to be sorted; otherwise reading stops at the limit.
  public var isSorted = false
  /// How many documents have waiting writes that were laid over them.
  public var overlays = 0
  /// How many runs of leaves were read.
  public var runsRead = 0
  /// Bytes of their bodies before compression.
  public var bytesDecoded = 0
  /// The index that would have avoided reading every document, for the caller to log; nil when
  /// there is none, or when it already exists.
  public var hint: DocumentIndex?
  /// The index that will serve the query once it is built.
  public var building: DocumentIndex?
  /// Why the query has to read every document, although an index would spare that elsewhere; nil when one can be
  /// declared, or none would help.
  public var obstacle: Obstacle?

  /// An explanation without costs.
  public init(_ plan: Plan) { self.plan = plan }
}
