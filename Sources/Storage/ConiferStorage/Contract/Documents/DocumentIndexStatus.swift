/// The state of a declared index of documents, with its number of entries and its bytes.
public struct DocumentIndexStatus: Hashable, Sendable {
  /// The index.
  public let index: DocumentIndex
  /// Whether queries may use the index; they use none that is being built.
  public let state: IndexStatus.State
  /// How many entries it has.
  public let entries: Int
  /// Bytes of their keys and values, with the space byte.
  public let bytes: Int

  /// The state of an index of documents.
  public init(index: DocumentIndex, state: IndexStatus.State, entries: Int = 0, bytes: Int = 0) {
    self.index = index
    self.state = state
    self.entries = entries
    self.bytes = bytes
  }
}
