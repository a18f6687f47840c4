import ConiferTree

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The hash of data that a client sent.
///
/// The JavaScript client computes a double's exponent with a logarithm. Where that rounds up to the
/// next whole number, the client hashes wrong digits: for `Number.MAX_SAFE_INTEGER` those of 2^53.
/// Both hashes are accepted as the data's; otherwise that client would always count as stale.
struct ClientHash {
  /// The maximum number of leaves that are searched for such numbers; all other requests wait
  /// meanwhile.
  private static let maxLeaves = 10_000

  let text: String

  init(_ text: String) { self.text = text }

  /// Whether a client that holds this data may have sent the hash.
  func matches(_ node: Node) -> Bool {
    if text == NodeHash.hash(node) { return true }
    // The hash of no data is empty; every other hash has the length of a digest.
    guard text.utf8.count == 28, node.leafCount <= Self.maxLeaves else { return false }
    return node.asHashedByJavaScript().map { text == NodeHash.hash($0) } ?? false
  }
}

extension Node {
  /// The node whose hash the JavaScript client computes for this one; nil when it is the same node.
  fileprivate func asHashedByJavaScript() -> Node? {
    let priority = priority.flatMap { $0.leaf.asHashedByJavaScript }.flatMap { Priority($0) }
    if let leaf {
      let other = leaf.asHashedByJavaScript
      guard other != nil || priority != nil else { return nil }
      return Node(other ?? leaf, priority: priority ?? self.priority)
    }
    var result: Node?
    for child in children {
      guard let other = child.node.asHashedByJavaScript() else { continue }
      result = (result ?? self).setting(child.key, to: other)
    }
    return priority.map { (result ?? self).settingPriority($0) } ?? result
  }
}

extension Leaf {
  /// The number whose digits the JavaScript client hashes; nil when it hashes the right ones.
  fileprivate var asHashedByJavaScript: Leaf? {
    guard let number, number.isNormal else { return nil }
    let size = number.magnitude
    let exponent = min((log(size) / 0.693_147_180_559_945_3).rounded(.down), 1023)
    guard Int(exponent) != Int(size.exponent) || exponent < -971 else { return nil }
    // Beyond the largest power of two, the client's fraction is infinite, and its digits are zeros.
    let power = exp2(52 - exponent)
    let fraction = power.isFinite ? Int64((size * power - 0x1p52 + 0.5).rounded(.down)) : 0
    let sign = number.bitPattern & (1 << 63)
    let digits = UInt64(bitPattern: fraction) & (1 << 52 - 1)
    let read = sign | UInt64(Int(exponent) + 1023) << 52 | digits
    return read == number.bitPattern ? nil : .double(Double(bitPattern: read))
  }
}
