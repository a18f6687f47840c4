package import ConiferTree

extension Node {
  /// The first place where this node is not what it should be, in words, or nil when it is.
  ///
  /// Stricter than `==`: an integer has to stay the same integer. An integral double may come back
  /// as the integer, as the Realtime Database's clients do it.
  package func difference(from expected: Node) -> String? {
    difference(from: expected, at: .root)
  }

  private func difference(from expected: Node, at path: Path) -> String? {
    if isIdentical(to: expected) { return nil }
    let same =
      switch (priority?.leaf, expected.priority?.leaf) {
      case (nil, nil): true
      case (let a?, let b?): a.isSame(b)
      default: false
      }
    guard same else {
      return "\(path) has the priority \(priority?.leaf.summary ?? "none"), "
        + "not \(expected.priority?.leaf.summary ?? "none")"
    }
    if isLeaf || expected.isLeaf || isEmpty || expected.isEmpty {
      if let leaf, let other = expected.leaf, leaf.isSame(other) { return nil }
      return isEmpty && expected.isEmpty
        ? nil : "\(path) is \(summary), not \(expected.summary)"
    }
    var mine = children.makeIterator()
    var theirs = expected.children.makeIterator()
    while true {
      switch (mine.next(), theirs.next()) {
      case (nil, nil): return nil
      case (let child?, nil):
        return "\(path.appending(child.key)) is \(child.node.summary) and should not be there"
      case (nil, let child?):
        return "\(path.appending(child.key)) is missing; it should be \(child.node.summary)"
      case (let child?, let other?):
        if child.key < other.key {
          return "\(path.appending(child.key)) is \(child.node.summary) and should not be there"
        }
        if other.key < child.key {
          return "\(path.appending(other.key)) is missing; it should be \(other.node.summary)"
        }
        let deeper = child.node.difference(from: other.node, at: path.appending(child.key))
        if let deeper { return deeper }
      }
    }
  }

  /// The node in about a line.
  package var summary: String {
    if isEmpty { return "empty" }
    let tail = priority.map { " priority \($0.leaf.summary)" } ?? ""
    if let leaf { return leaf.summary + tail }
    let shown = children.prefix(8).map { "\"\($0.key)\": \($0.node.summary)" }
    let more = childCount > 8 ? ["… \(childCount) children"] : []
    return "[" + (shown + more).joined(separator: ", ") + "]" + tail
  }
}

extension Leaf {
  /// Whether reading this after writing another loses nothing.
  func isSame(_ other: Leaf) -> Bool {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): a == b
    case (.double(let a), .double(let b)): a == b
    case (.double, .integer): false
    default: self == other
    }
  }

  /// The leaf in about a line.
  package var summary: String {
    switch self {
    case .string(let text) where text.utf8.count > 48:
      "\"\(text.prefix(24))…\" (\(text.utf8.count) bytes)"
    case .string(let text): "\"\(text)\""
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .bool(let value): "\(value)"
    case .serverValue(let value): ".\(value)"
    }
  }
}
