/// A builder that makes a node from the events of a JSON text, by the Realtime Database's rules.
///
/// - An object becomes an interior node, an array one with the keys "0", "1" and so on; `null` and
///   what is empty is dropped. Of keys that repeat, the last one counts.
/// - `{".value": leaf, ".priority": p}` is a leaf with a priority; `.priority` beside children is
///   the priority of their node.
/// - `{".sv": "timestamp"}` and `{".sv": {"increment": n}}` are leaves that hold a server value.
///
/// A builder works incrementally. An import of any size stays in flat memory when it takes the
/// finished pieces out with ``drain()`` as soon as ``pendingBytes`` passes its budget:
///
/// ```swift
/// var builder = NodeBuilder()
/// while try builder.advance(&reader) {
///   if builder.pendingBytes > 8 << 20 { try importPieces(builder.drain()) }
/// }
/// try importPieces(builder.drain())
/// ```
public struct NodeBuilder {
  /// A finished part of a node that is built, to be written to a path: what was there before is
  /// replaced.
  public typealias Piece = (path: Path, node: Node)

  let root: Path
  let isValidating: Bool
  var stack: [Frame] = []
  /// The pieces of drained containers that have been closed since.
  var closed: [Piece] = []
  var result: Node?

  /// About how many bytes of memory ``drain()`` would give away now.
  public internal(set) var pendingBytes = 0
  /// Whether the outermost value has been read whole.
  public internal(set) var isComplete = false
  /// The outermost value, once it is complete, unless ``drain()`` has returned it.
  public var node: Node? { result }

  /// Makes a builder of one value.
  /// - Parameters:
  ///   - root: The path of the value; the paths of drained pieces begin with it.
  ///   - validating: Whether keys, paths and strings must keep to the limits of what an app may
  ///     write. Otherwise only what a tree cannot hold is refused: empty keys and unknown keys
  ///     that start with a dot.
  public init(at root: Path = .root, validating: Bool = false) {
    self.root = root
    self.isValidating = validating
  }

  /// Reads one event from a reader into the builder.
  /// - Parameter reader: The source of the events.
  /// - Returns: False when the text has ended.
  /// - Throws: `JSONError` as the reader does, and with the code `invalidTree` and the `TreeError`
  ///   as its cause when the text breaks a rule of the tree.
  public mutating func advance(_ reader: inout JSONReader) throws(JSONError) -> Bool {
    guard let event = try reader.next() else { return false }
    do throws(TreeError) {
      try append(event)
    } catch {
      throw JSONError(
        code: .invalidTree, line: reader.line, column: reader.column, message: error.message,
        cause: error)
    }
    return true
  }

  /// Takes the next event.
  ///
  /// After an error the builder must not be used.
  /// - Parameter event: The event; the order of events is that of a ``JSONReader``.
  /// - Throws: `TreeError` with `invalidKey` for an empty key or an unknown one that starts with a
  ///   dot, `invalidServerValue` for a malformed `.sv` or one with siblings, `invalidValue` for a
  ///   `.value` that is no leaf or has children beside it, `invalidPriority` for a priority that is
  ///   neither string nor number nor server value, and with the errors of keys, paths and leaves
  ///   that an app writes if the builder is validating.
  public mutating func append(_ event: JSONEvent) throws(TreeError) {
    switch event {
    case .beginObject: open(isArray: false)
    case .beginArray: open(isArray: true)
    case .key(let name): try take(key: name)
    case .endObject, .endArray: try close()
    case .string(let text): try take(leaf: .string(text))
    case .integer(let value): try take(leaf: .integer(value))
    case .double(let value): try take(leaf: .double(value))
    case .bool(let value): try take(leaf: .bool(value))
    case .null: try take(.empty)
    }
  }

  private mutating func take(leaf: Leaf) throws(TreeError) {
    if isValidating, case .string(let text) = leaf, text.utf8.count > Leaf.longest {
      try leaf.validate(at: path(of: stack.count).keys)
    }
    try take(Node(leaf))
  }

  /// Puts a finished value where the innermost container wants one.
  private mutating func take(_ node: Node) throws(TreeError) {
    let top = stack.count - 1
    guard top >= 0 else {
      result = node
      isComplete = true
      pendingBytes += NodeBuilder.cost(node)
      return
    }
    if stack[top].isArray {
      let key = Key(stack[top].nextIndex)
      // A hole of an array deletes nothing: its keys do not repeat.
      if !node.isEmpty {
        if isValidating { try validate(key) }
        add(node, for: key)
      }
      stack[top].nextIndex += 1
      return
    }
    switch stack[top].slot {
    case .child(let key): add(node, for: key)
    case .value:
      guard node.isEmpty || (node.isLeaf && node.priority == nil) else {
        throw refused(.invalidValue, "\".value\" holds an object; give it a leaf")
      }
      stack[top].value = node.leaf
    case .priority:
      guard node.isEmpty || node.asPriority != nil else {
        throw refused(
          .invalidPriority,
          "\".priority\" must be a string, a number, a server value or null; change or remove it")
      }
      stack[top].priority = node.asPriority
    case .serverValue: stack[top].serverValue = try serverValue(node)
    }
  }

  private mutating func add(_ node: Node, for key: Key) {
    let cost = key.utf8Count + NodeBuilder.cost(node)
    stack[stack.count - 1].add((key: key, node: node), cost)
    pendingBytes += cost
  }

  private mutating func close() throws(TreeError) {
    guard let frame = stack.popLast() else { return }
    pendingBytes -= frame.cost
    if let value = frame.serverValue {
      return try take(Node(.serverValue(value)))
    }
    if frame.names.contains(.value) {
      return try take(frame.value.map { Node($0, priority: frame.priority) } ?? .empty)
    }
    guard frame.isDrained else {
      return try take((consume frame).node())
    }
    // Some of its children were drained, so the rest is drained piece by piece.
    let place = path(of: stack.count)
    emit(frame, at: place, into: &closed)
    if let priority = frame.priority {
      closed.append((place.appending(.priority), Node(priority.leaf)))
    }
    pendingBytes += frame.cost
    closedCost += frame.cost
    if stack.isEmpty { isComplete = true } else { skip() }
  }

  /// The cost of what `closed` holds.
  var closedCost = 0

  /// Steps over the value of a container that has been drained.
  private mutating func skip() {
    if stack[stack.count - 1].isArray { stack[stack.count - 1].nextIndex += 1 }
  }

  /// The approximate memory of a finished node in bytes.
  static func cost(_ node: Node) -> Int { node.estimatedSize + 64 * node.leafCount }
}
