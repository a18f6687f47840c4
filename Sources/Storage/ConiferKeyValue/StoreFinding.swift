/// Damaged bytes in a store's files: what a store has to leave out though it had been durable, or
/// what `verify` met.
public struct StoreFinding: Hashable, Sendable {
  /// The file that holds the damaged bytes.
  public let file: String
  /// Where they begin in it.
  public let offset: Int
  /// How many there are.
  public let bytes: Int
  /// The spaces in which records may be lacking, by number; nil when that is not known.
  public let spaces: ClosedRange<UInt8>?
  /// What happened, in a sentence.
  public let words: String

  /// Something in a store's files that is not as it was written.
  public init(
    file: String, offset: Int, bytes: Int, spaces: ClosedRange<UInt8>? = nil, words: String
  ) {
    self.file = file
    self.offset = offset
    self.bytes = bytes
    self.spaces = spaces
    self.words = words
  }
}
