public import ConiferDocument

/// The documents that a query gives, and how they were found.
public struct DocumentAnswer: Sendable {
  /// The documents, in the query's order.
  public var documents: [Document]
  /// How they were found.
  public var explanation: DocumentExplanation

  /// The documents that a query gives.
  public init(_ documents: [Document], _ explanation: DocumentExplanation) {
    self.documents = documents
    self.explanation = explanation
  }
}

/// How a query of documents was answered, and what that cost.
public struct DocumentExplanation: Hashable, Sendable {
  /// Where the documents came from.
  public enum Plan: Hashable, Sendable {
    /// All stored documents of so many collections were looked at.
    case scan(collections: Int)
    /// One document was read.
    case document
  }

  /// Where the documents came from.
  public var plan: Plan
  /// How many stored documents were decoded.
  public var documentsRead = 0
  /// How many documents have waiting writes that were laid over them.
  public var overlays = 0
  /// How many runs of leaves were read.
  public var runsRead = 0
  /// Bytes of their bodies before compression.
  public var bytesDecoded = 0

  /// How a query was answered.
  public init(_ plan: Plan) { self.plan = plan }
}
