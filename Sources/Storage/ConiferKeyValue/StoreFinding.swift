/// Something that opening a store could not read and had to leave out, though it had been durable.
public struct StoreFinding: Hashable, Sendable {
  /// The file that holds the damaged bytes.
  public let file: String
  /// Where they begin in it.
  public let offset: Int
  /// How many there are.
  public let bytes: Int
  /// What happened, in a sentence.
  public let words: String

  /// Something that opening a store had to leave out.
  public init(file: String, offset: Int, bytes: Int, words: String) {
    self.file = file
    self.offset = offset
    self.bytes = bytes
    self.words = words
  }
}
