internal import ConiferKeyValue

/// The text of an owner's file: `kind lmdb`, if the kind of the store is recorded, then `pid 4711` and
/// `start …` while it has an owner; each with a line feed behind it.
///
/// What a crash or an earlier version left is no text of this form, and says nothing.
struct OwnerText {
  /// The kind of the store.
  let kind: String?
  /// The bytes of the line that names it.
  let kindLength: Int
  /// The owner's process id.
  private(set) var pid: Int32?
  /// When that process was started, as the system says it.
  private(set) var start = ""

  init(_ bytes: Bytes) {
    let first = bytes.prefix { $0 != Self.end }
    let name = String(decoding: first.dropFirst(Self.title.count), as: UTF8.self)
    if first.count < bytes.count, let line = Self.line(kind: name), bytes.starts(with: line) {
      (kind, kindLength) = (name, line.count)
    } else {
      (kind, kindLength) = (nil, 0)
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
    return title + Bytes(kind.utf8) + [end]
  }

  /// The lines that name an owner.
  static func owner(_ pid: Int32, start: String) -> Bytes {
    Bytes("pid \(pid)\nstart \(start)\n".utf8)
  }

  private static let title = Bytes("kind ".utf8)
  private static let end = UInt8(ascii: "\n")
}
