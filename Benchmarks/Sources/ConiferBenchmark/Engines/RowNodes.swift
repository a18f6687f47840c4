import CPeers
import ConiferTree

/// The node that rows make which come in the order of their keys, as an app would build it: children
/// are collected level by level, and each level becomes a `Node` when the keys leave it.
final class RowNodes {
  private struct Frame {
    let key: Key
    /// Where its part of the path ends.
    let end: Int
    var children: [(Key, Node)] = []
  }

  /// Adds a row to the object that the context points to.
  static let visit: peer_visit = { context, key, keyCount, value, valueCount in
    guard let context else { return false }
    Unmanaged<RowNodes>.fromOpaque(context).takeUnretainedValue().add(
      UnsafeBufferPointer(start: key, count: keyCount),
      UnsafeBufferPointer(start: value, count: valueCount))
    return true
  }

  private let skipped: Int
  private var path: [UInt8] = []
  private var frames = [Frame(key: Key(""), end: 0)]

  /// A node without leaves yet.
  ///
  /// - Parameter skipped: how many bytes of each key lead to the node.
  init(skipping skipped: Int) { self.skipped = skipped }

  private func add(_ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    let rest = UnsafeBufferPointer(rebasing: key[min(skipped, key.count)...])
    let shared = path.withUnsafeBufferPointer { path in
      var shared = 0
      while shared < min(path.count, rest.count), path[shared] == rest[shared] { shared += 1 }
      return shared
    }
    while frames[frames.count - 1].end > shared { close() }
    var start = frames[frames.count - 1].end
    path.removeLast(path.count - start)
    while let stop = rest[start...].firstIndex(of: 1) {
      frames.append(Frame(key: Self.key(rest[start..<stop]), end: stop + 1))
      path.append(contentsOf: rest[start...stop])
      start = stop + 1
    }
    guard let leaf = Self.leaf(value) else { return }
    frames[frames.count - 1].children.append((Self.key(rest[start...]), Node(leaf)))
  }

  private func close() {
    let frame = frames.removeLast()
    frames[frames.count - 1].children.append((frame.key, Node(children: frame.children)))
  }

  /// The node of all rows.
  func finish() -> Node {
    while frames.count > 1 { close() }
    return Node(children: frames[0].children)
  }

  private static func key(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Key {
    Key(String(decoding: UnsafeBufferPointer(rebasing: bytes), as: UTF8.self))
  }

  /// The leaf of a row's JSON; what is neither plain text nor a whole number takes the long way.
  static func leaf(_ json: UnsafeBufferPointer<UInt8>) -> Leaf? {
    guard let first = json.first else { return nil }
    switch first {
    case UInt8(ascii: "t"): return .bool(true)
    case UInt8(ascii: "f"): return .bool(false)
    case UInt8(ascii: "\""):
      guard !json.contains(UInt8(ascii: "\\")), json.count >= 2 else { break }
      return .string(
        String(decoding: UnsafeBufferPointer(rebasing: json[1..<(json.count - 1)]), as: UTF8.self))
    default:
      let isNegative = first == UInt8(ascii: "-")
      var number: Int64 = 0
      for byte in json.dropFirst(isNegative ? 1 : 0) {
        let digit = byte &- UInt8(ascii: "0")
        guard digit < 10, json.count < 19 else { return try? Node(json: Array(json)).leaf }
        number = number * 10 + Int64(digit)
      }
      return .integer(isNegative ? -number : number)
    }
    return try? Node(json: Array(json)).leaf
  }
}

/// The leaf that one row holds.
final class RowLeaf {
  /// Takes a row's leaf.
  static let visit: peer_visit = { context, _, _, value, valueCount in
    guard let context else { return false }
    Unmanaged<RowLeaf>.fromOpaque(context).takeUnretainedValue().leaf = RowNodes.leaf(
      UnsafeBufferPointer(start: value, count: valueCount))
    return true
  }

  private(set) var leaf: Leaf?
}
