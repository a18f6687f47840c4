/// Something in a store's files that is not as it was written: what opening had to leave out though it
/// had been durable, or what `verify` met.
public struct StoreFinding: Hashable, Sendable {
  /// The file that holds the damaged bytes.
  public let file: String
  /// Where they begin in it.
  public let offset: Int
  /// How many there are.
  public let bytes: Int
  /// What happened, in a sentence.
  public let words: String

  /// Something in a store's files that is not as it was written.
  public init(file: String, offset: Int, bytes: Int, words: String) {
    self.file = file
    self.offset = offset
    self.bytes = bytes
    self.words = words
  }
}
