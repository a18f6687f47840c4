/// The hash by which server and client determine whether they have the same data.
///
/// Base 64 of the SHA-1 of a text, as the Realtime Database defines it. A hash is kept with each
/// interior node, so asking again, also for a changed copy, only hashes what is new.
public enum NodeHash {
  /// The hash of a node with its priority; the empty text for the empty node.
  ///
  /// Data with server values has no hash the server would know; the one returned is the client's
  /// own.
  public static func hash(_ node: Node) -> String {
    digest(node)?.base64 ?? ""
  }

  static func digest(_ node: Node) -> SHA1.Digest? {
    switch node.form {
    case .empty: return nil
    case .leaf, .prioritised:
      var text = SHA1()
      text.add(leafOf: node, quoted: false)
      return text.finished()
    case .interior(let interior):
      return digest(interior)
    }
  }

  /// Hashes all nodes below a node that have no hash yet, children first, with an explicit stack.
  private static func digest(_ interior: Interior) -> SHA1.Digest {
    if let known = interior.digest { return known }
    var levels = [(interior, Node(form: .interior(interior)).children.makeIterator())]
    while let (node, _) = levels.last {
      let last = levels.count - 1
      var descended = false
      while let child = levels[last].1.next() {
        guard let below = child.node.interior, below.digest == nil else { continue }
        levels.append((below, child.node.children.makeIterator()))
        descended = true
        break
      }
      if descended { continue }
      node.keep(digestWithHashedChildren(node))
      levels.removeLast()
    }
    return interior.digest ?? digestWithHashedChildren(interior)
  }

  private static func digestWithHashedChildren(_ interior: Interior) -> SHA1.Digest {
    var text = SHA1()
    if let priority = interior.priority { text.add(priority: priority, quoted: false) }
    let children = Node(form: .interior(interior)).children
    // Without priorities the priority order is the key order.
    if interior.root.totals.hasPriorities {
      for child in children.sorted(by: { Node.comparePriorities($0, $1) < 0 }) {
        text.add(child: child)
      }
    } else {
      for child in children { text.add(child: child) }
    }
    return text.finished()
  }
}

extension SHA1 {
  /// Adds a child of the simple hash: `:key:hash`.
  fileprivate mutating func add(child: Node.Child) {
    let digest = child.node.interior?.digest ?? NodeHash.digest(child.node)
    guard let digest else { return }
    add(UInt8(ascii: ":"))
    add(child.key.string)
    add(UInt8(ascii: ":"))
    add(digest.base64)
  }

  /// Adds `priority:P:`.
  fileprivate mutating func add(priority: Priority, quoted: Bool) {
    add("priority:")
    add(leaf: priority.leaf, quoted: quoted)
    add(UInt8(ascii: ":"))
  }

  /// Adds a leaf with its priority.
  ///
  /// - Parameters:
  ///   - node: a leaf node; nothing is added for another one.
  ///   - quoted: whether strings are quoted, as the compound hash wants, or raw.
  mutating func add(leafOf node: Node, quoted: Bool) {
    if let priority = node.priority { add(priority: priority, quoted: quoted) }
    if let leaf = node.leaf { add(leaf: leaf, quoted: quoted) }
  }

  private mutating func add(leaf: Leaf, quoted: Bool) {
    switch leaf {
    case .string(let text):
      add("string:")
      if quoted { add(quoted: text) } else { add(text) }
    case .integer(let value): add(number: Double(value))
    case .double(let value): add(number: value)
    case .bool(let value): add(value ? "boolean:true" : "boolean:false")
    case .serverValue(.timestamp): add("deferred:timestamp")
    case .serverValue(.other(let name)):
      add("deferred:")
      add(name)
    case .serverValue(.increment(let delta)):
      add("deferred:increment:")
      add(leaf: delta, quoted: quoted)
    }
  }

  /// Adds the sixteen hexadecimal digits of a double's bytes, high bytes first.
  private mutating func add(number: Double) {
    add("number:")
    for shift in stride(from: 60, through: 0, by: -4) {
      let digit = UInt8(truncatingIfNeeded: number.bitPattern >> UInt64(shift)) & 15
      add(digit < 10 ? 0x30 + digit : 0x57 + digit)
    }
  }

  /// Adds a text in quotes, with backslashes before quotes and backslashes.
  mutating func add(quoted text: String) {
    add(UInt8(ascii: "\""))
    if text.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
      for byte in text.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { add(UInt8(ascii: "\\")) }
        add(byte)
      }
    } else {
      add(text)
    }
    add(UInt8(ascii: "\""))
  }
}
