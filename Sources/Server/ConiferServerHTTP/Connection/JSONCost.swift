/// Estimates the memory that a JSON text takes while it is handled: as text, as the decoded tree,
/// and as the text of an answer.
///
/// The count is updated while the text arrives. The cost of a tree lies in its leaves and tables,
/// each of which follows one of four characters; strings that contain these characters are
/// overestimated.
struct JSONCost {
  /// The bytes of memory for each byte of the text: for the text, the tree's strings and the
  /// answer.
  private static let perByte = 3
  /// The bytes of memory for each place of the tree.
  private static let perPlace = 64

  private var bytes = 0
  private var places = 0

  /// The estimated bytes of memory.
  var memory: Int { Self.perByte * bytes + Self.perPlace * places }

  /// Counts the text's next bytes.
  mutating func add(_ text: some Collection<UInt8>) {
    bytes += text.count
    var count = 0
    let isCounted: Void? = text.withContiguousStorageIfAvailable { text in
      for byte in text where Self.beginsPlace(byte) { count += 1 }
    }
    if isCounted == nil { for byte in text where Self.beginsPlace(byte) { count += 1 } }
    places += count
  }

  private static func beginsPlace(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "{"): true
    default: false
    }
  }
}
