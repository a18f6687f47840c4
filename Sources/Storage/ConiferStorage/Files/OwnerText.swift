internal import ConiferKeyValue

/// The text of an owner's file: `kind lmdb lmdb`, if the kind of the store is recorded, then `pid 4711`
/// and `start …` while it has an owner; each with a line feed behind it.
///
/// The kind's name is there twice, so that a changed bit shows.
struct OwnerText {
  /// What the first line says of the store's kind.
  enum Kind: Equatable {
    /// Nothing: a store of an earlier version, one that is not made yet, or the beginning of a line that
    /// a crash cut off.
    case none
    case recorded(String)
    /// A whole line was written, and is not any more what was written.
    case damaged
  }

  /// The kind of the store.
  let kind: Kind
  /// The bytes of the line that records it; none where that is damaged, so that it is written anew.
  let kindLength: Int
  /// The bytes of the line that records it, damaged or not.
  let lineLength: Int
  /// The owner's process id.
  private(set) var pid: Int32?
  /// When that process was started, as the system says it.
  private(set) var start = ""

  init(_ bytes: Bytes) {
    let first = bytes.prefix { $0 != Self.end }
    let name = first.dropFirst(Self.title.count).prefix { $0 != Self.space }
    let text = String(decoding: name, as: UTF8.self)
    if first.count == bytes.count || first.isEmpty || first.starts(with: Self.owner) {
      (kind, kindLength, lineLength) = (.none, 0, 0)
    } else if let line = Self.line(kind: text), bytes.starts(with: line) {
      (kind, kindLength, lineLength) = (.recorded(text), line.count, line.count)
    } else {
      (kind, kindLength, lineLength) = (.damaged, 0, first.count + 1)
    }
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      if line.hasPrefix("pid ") { pid = Int32(line.dropFirst(4)) }
      if line.hasPrefix("start ") { start = String(line.dropFirst(6)) }
    }
  }

  /// The line that names a kind; nil when its name is none of a kind.
  static func line(kind: String) -> Bytes? {
    let isName = kind.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    guard isName, (1...64).contains(kind.utf8.count) else { return nil }
    return title + Bytes(kind.utf8) + [space] + Bytes(kind.utf8) + [end]
  }

  /// The lines that name an owner.
  static func owner(_ pid: Int32, start: String) -> Bytes {
    Bytes("pid \(pid)\nstart \(start)\n".utf8)
  }

  private static let title = Bytes("kind ".utf8)
  private static let owner = Bytes("pid ".utf8)
  private static let space = UInt8(ascii: " ")
  private static let end = UInt8(ascii: "\n")
}
