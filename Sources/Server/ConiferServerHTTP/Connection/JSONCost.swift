/// About the memory that a text of JSON takes while it is handled: as text, as the tree that is read
/// from it, and as the text of an answer.
///
/// It is counted while the text comes. Leaves and tables are what costs in a tree, and before each one
/// stands one of four characters; strings that hold these are counted too high.
struct JSONCost {
  /// What a text, its tree's strings and its answer's text take, for each byte of it.
  private static let perByte = 3
  /// What a place of a tree takes.
  private static let perPlace = 64

  private var bytes = 0
  private var places = 0

  /// About the bytes of memory.
  var memory: Int { Self.perByte * bytes + Self.perPlace * places }

  /// Takes note of the text's next bytes.
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
