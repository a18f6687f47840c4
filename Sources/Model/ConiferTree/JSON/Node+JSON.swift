extension Node {
  /// Whether JSON has the plain form that apps read, or the lossless form with priorities.
  public enum JSONForm: Hashable, Sendable {
    /// The form that apps read: without priorities, and a map as an array when its keys are whole
    /// numbers and more than half of the indices up to the last one exist, as in the Realtime
    /// Database.
    case plain
    /// The lossless form: priorities as `.priority`, leaves that have one as `{".value": leaf,
    /// ".priority": p}`, and no arrays.
    case export
  }

  /// Reads a node from JSON in UTF-8, by the rules of ``NodeBuilder``.
  /// - Parameters:
  ///   - json: The text.
  ///   - limits: The limits of reading.
  /// - Throws: `JSONError`; the code is `invalidTree` when the text is JSON but no node.
  public init(json: [UInt8], limits: JSONReader.Limits = .init()) throws(JSONError) {
    var reader = JSONReader(bytes: json, limits: limits)
    var builder = NodeBuilder()
    while try builder.advance(&reader) {}
    self = builder.node ?? .empty
  }

  /// Reads a node from JSON, by the rules of ``NodeBuilder``.
  /// - Parameter json: The text.
  /// - Throws: `JSONError`; the code is `invalidTree` when the text is JSON but no node.
  public init(json: String) throws(JSONError) { try self.init(json: Array(json.utf8)) }

  /// Writes the node as JSON in UTF-8.
  /// - Parameters:
  ///   - form: The form that apps read, or the lossless one.
  ///   - pretty: Whether each member gets a line of its own.
  /// - Returns: The text; `null` for the empty node.
  public func json(_ form: JSONForm = .plain, pretty: Bool = false) -> [UInt8] {
    var writer = JSONWriter(pretty: pretty)
    write(to: &writer, form)
    return writer.bytes
  }

  /// Writes the node as one JSON value, without recursion and without a copy of the text.
  /// - Parameters:
  ///   - writer: The writer that gets the value; it determines layout and sink.
  ///   - form: The form that apps read, or the lossless one.
  public func write(to writer: inout JSONWriter, _ form: JSONForm = .plain) {
    struct Level {
      var children: Children.Iterator
      /// In an array, the index of the next element.
      var nextIndex: Int32?
    }
    var levels: [Level] = []
    var current: Node? = self
    while true {
      if let node = current {
        current = nil
        if node.interior != nil {
          let isArray = form == .plain && node.isArray
          levels.append(Level(children: node.children.makeIterator(), nextIndex: isArray ? 0 : nil))
          if isArray { writer.beginArray() } else { writer.beginObject() }
          if form == .export, let priority = node.priority {
            writer.member(.priority, priority.leaf)
          }
        } else {
          node.writeLeaf(to: &writer, form)
        }
      }
      guard let last = levels.indices.last else { return }
      if let child = levels[last].children.next() {
        if let index = levels[last].nextIndex, let key = child.key.integer {
          for _ in index..<key { writer.null() }
          levels[last].nextIndex = key + 1
        } else {
          child.key.withUTF8 { writer.key(utf8: $0) }
        }
        current = child.node
      } else {
        if levels[last].nextIndex == nil { writer.endObject() } else { writer.endArray() }
        levels.removeLast()
      }
    }
  }

  private func writeLeaf(to writer: inout JSONWriter, _ form: JSONForm) {
    guard let leaf else { return writer.null() }
    guard form == .export, let priority else { return writer.leaf(leaf) }
    writer.beginObject()
    writer.member(".value", leaf)
    writer.member(.priority, priority.leaf)
    writer.endObject()
  }

  /// Whether the plain form shows the children as an array: all keys are `0|[1-9][0-9]*`, and the
  /// largest is smaller than twice their number.
  package var isArray: Bool {
    // Whole numbers come first in key order, so the first and last keys decide for most maps.
    guard let first = firstChild?.key.integer, let last = lastChild?.key.integer,
      first >= 0, Int(last) < 2 * childCount
    else { return false }
    return children.allSatisfy { child in
      child.key.withUTF8 {
        $0.count == 1 ? true : $0.first != UInt8(ascii: "0") && $0.first != UInt8(ascii: "-")
      }
    }
  }
}

extension JSONWriter {
  /// Writes a leaf; a server value as `{".sv": …}`.
  /// - Parameter leaf: The leaf.
  public mutating func leaf(_ leaf: Leaf) {
    switch leaf {
    case .string(let text): string(text)
    case .integer(let value): integer(value)
    case .double(let value): double(value)
    case .bool(let value): bool(value)
    case .serverValue(let value):
      beginObject()
      key(".sv")
      switch value {
      case .timestamp: string("timestamp")
      case .other(let name): string(name)
      case .increment(let delta):
        beginObject()
        member("increment", delta)
        endObject()
      }
      endObject()
    }
  }

  mutating func member(_ key: Key, _ leaf: Leaf) {
    self.key(key.string)
    self.leaf(leaf)
  }
}
