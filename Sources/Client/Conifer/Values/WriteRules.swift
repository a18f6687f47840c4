import ConiferTree
import Foundation

/// Turns the arguments of writes into what the engine takes, or says why they are invalid.
enum WriteRules {
  /// A write as the engine takes it.
  ///
  /// - Parameter path: where it is to be made.
  static func write(
    _ operation: WriteOperation, at path: Path
  ) throws(DatabaseError) -> LocalWrite {
    switch operation.content {
    case .set(let value, let priority): .set(path, try set(value, priority: priority, at: path))
    case .setEncoded(let value, let encoder):
      .set(path, try set(try encoder.encode(value), at: path))
    case .update(let values): .update(path, try update(values, at: path))
    case .setPriority(let value):
      .set(path.appending(.priority), try priority(value, at: path))
    }
  }

  /// A write of one place.
  static func set(
    _ value: Any?, priority: Any? = nil, at path: Path
  ) throws(DatabaseError) -> Node {
    try check(path)
    do throws(TreeError) {
      return try ValueReader.node(value, priority: priority, at: path)
    } catch {
      throw DatabaseError(error)
    }
  }

  /// A write of a priority alone.
  static func priority(_ priority: Any?, at path: Path) throws(DatabaseError) -> Node {
    try check(path)
    do throws(TreeError) {
      return try ValueReader.priority(priority, at: path).map { Node($0.leaf) } ?? .empty
    } catch {
      throw DatabaseError(error)
    }
  }

  /// A write of several places.
  ///
  /// - Parameters:
  ///   - values: by path from `path`; the slashes around a path do not count.
  ///   - path: the place that the call names.
  /// - Returns: the changes with paths from the root, ordered by path.
  static func update(
    _ values: [AnyHashable: Any], at path: Path
  ) throws(DatabaseError) -> [NodeChange] {
    try check(path)
    var changes: [NodeChange] = []
    for (name, value) in values {
      guard let name = name.base as? String else {
        throw DatabaseError(
          .invalidUpdate, "\(path): the update has the key \(name), which is no String.",
          remedy: "Name each place by a path such as \"a/b\".")
      }
      let place = path.appending(Path(name))
      guard place.count > path.count else {
        throw DatabaseError(
          .invalidUpdate,
          "\(path): the update has the key \"\(name)\", which names no place below.",
          remedy: "Write the place itself with setValue.")
      }
      try check(place)
      do throws(TreeError) {
        changes.append(NodeChange(place, try ValueReader.node(value, at: place)))
      } catch {
        throw DatabaseError(error)
      }
    }
    do throws(TreeError) {
      try Path.validate(merging: changes.map(\.path))
    } catch {
      throw DatabaseError(error)
    }
    return changes.sorted { $0.path < $1.path }
  }

  /// Checks that a place may be written at all.
  static func check(_ path: Path) throws(DatabaseError) {
    guard path.first == .info else { return }
    throw DatabaseError(
      .readOnly, "\(path) is the client's own: nobody writes it.",
      remedy: "Write to a place outside of .info.")
  }

  /// Why no reference may lead to a place; nil when one may.
  static func fault(_ path: Path) -> DatabaseError? {
    do throws(TreeError) {
      if path.last?.isPriority == true {
        throw TreeError(
          .invalidKey,
          "\(path): \".priority\" is no child. Use setPriority, or the key of an update.")
      }
      if let key = path.keys.first(where: { $0.string.utf8.contains(UInt8(ascii: "/")) }) {
        throw TreeError(.invalidKey, "The key \"\(key)\" holds a slash. Choose another key.")
      }
      _ = try Path(validating: path.description)
      return nil
    } catch {
      return DatabaseError(error)
    }
  }
}

/// Reads what an app writes (strings, numbers, booleans, dictionaries, arrays, and nothing) into a
/// node, by the rules of the Realtime Database: `.sv`, `.priority` and `.value` are understood, and
/// all that it forbids is refused.
struct ValueReader {
  /// The most containers in each other: the deepest path, and what metadata adds.
  private static let deepest = Path.deepest + 4

  private var builder = NodeBuilder()
  /// Where the value being read will stand; for messages.
  private var keys: [Key]

  private init(at path: Path) { keys = path.keys }

  /// The node that a value means.
  ///
  /// - Parameters:
  ///   - value: what the app gave.
  ///   - path: where it will stand, from the root.
  /// - Throws: `TreeError`, as `Path.validate(writing:)` and `NodeBuilder.append`, and with
  ///   `invalidValue` for what is no JSON.
  static func node(_ value: Any?, at path: Path) throws(TreeError) -> Node {
    var reader = ValueReader(at: path)
    try reader.append(value)
    let node = reader.builder.node ?? .empty
    try path.validate(writing: node)
    return node
  }

  /// The node that a value means, with a priority.
  ///
  /// - Parameters:
  ///   - value: what the app gave; a priority within it counts more than the other one.
  ///   - priority: the priority; nil for none.
  ///   - path: where it will stand, from the root.
  /// - Throws: `TreeError`, as the other one and as ``priority(_:at:)``.
  static func node(_ value: Any?, priority: Any?, at path: Path) throws(TreeError) -> Node {
    let priority = try self.priority(priority, at: path)
    let node = try self.node(value, at: path)
    return node.priority == nil ? node.settingPriority(priority) : node
  }

  /// The priority that a value means.
  ///
  /// - Throws: `TreeError.invalidPriority`.
  static func priority(_ value: Any?, at path: Path) throws(TreeError) -> Priority? {
    let place = path.appending(.priority)
    var reader = ValueReader(at: place)
    do throws(TreeError) {
      try reader.append(value)
    } catch {
      throw TreeError(.invalidPriority, error.message)
    }
    let node = reader.builder.node ?? .empty
    try place.validate(writing: node)
    return node.leaf.flatMap { Priority($0) }
  }

  /// The leaf that a query's bound means; nil for `null`.
  ///
  /// - Throws: `TreeError.invalidQuery` for what has no place in an order.
  static func bound(_ value: Any?) throws(TreeError) -> Leaf? {
    var reader = ValueReader(at: .root)
    do throws(TreeError) {
      try reader.append(value)
    } catch {
      throw TreeError(.invalidQuery, "In a query, a bound is no value: \(error.message)")
    }
    let node = reader.builder.node ?? .empty
    guard node.childCount == 0, node.priority == nil else {
      throw TreeError(
        .invalidQuery,
        "In a query, a bound is a dictionary or an array; give a string, a number, a boolean or nil"
      )
    }
    return node.leaf
  }

  private mutating func append(_ value: Any?) throws(TreeError) {
    guard let value else { return try builder.append(.null) }
    // Exact types are checked first, because a cast would take the number 1 for true. Classes of
    // Foundation are checked before casts too, because on Linux a cast to one would copy whole
    // containers.
    if let event = Self.native(value) { return try builder.append(event) }
    if let optional = value as? any OptionalValue { return try append(optional.wrapped) }
    if let dictionary = value as? [String: Any] { return try append(dictionary) }
    if let array = value as? [Any] { return try append(array) }
    if value is [AnyHashable: Any] {
      throw TreeError(
        .invalidKey, "\(Path(keys)): a dictionary has a key that is no String. Use strings.")
    }
    if let node = Self.tree(value) { return try append(node) }
    if let event = Self.bridged(value) { return try builder.append(event) }
    throw TreeError(
      .invalidValue,
      "\(Path(keys)): a value of type \(type(of: value)) is no JSON. Give a String, a number, a "
        + "Bool, a dictionary with String keys, an array, or nil; or encode it with setValue(from:)."
    )
  }

  /// The node of a value of the module ConiferTree, which apps may import and use.
  private static func tree(_ value: Any) -> Node? {
    switch value {
    case let node as Node: node
    case let leaf as Leaf: Node(leaf)
    case let placeholder as ConiferTree.ServerValue: Node(.serverValue(placeholder))
    default: nil
    }
  }

  private mutating func append(_ node: Node) throws(TreeError) {
    var reader = JSONReader(bytes: node.json(.export))
    do throws(JSONError) {
      while try builder.advance(&reader) {}
    } catch {
      throw error.cause as? TreeError
        ?? TreeError(.invalidValue, "\(Path(keys)): \(error.message)")
    }
  }

  private func checkDepth() throws(TreeError) {
    guard keys.count >= Self.deepest else { return }
    throw TreeError(
      .pathTooDeep,
      "\(Path(Array(keys.prefix(4))))… has more than \(Path.deepest) keys. Nest the data less "
        + "deeply.")
  }

  private mutating func append(_ dictionary: [String: Any]) throws(TreeError) {
    try checkDepth()
    try builder.append(.beginObject)
    for (key, value) in dictionary {
      try builder.append(.key(key))
      keys.append(Key(key))
      try append(value)
      keys.removeLast()
    }
    try builder.append(.endObject)
  }

  private mutating func append(_ array: [Any]) throws(TreeError) {
    try checkDepth()
    try builder.append(.beginArray)
    for (index, value) in array.enumerated() {
      keys.append(Key(index))
      try append(value)
      keys.removeLast()
    }
    try builder.append(.endArray)
  }

  /// The event of a plain value of Swift; nil for others.
  private static func native(_ value: Any) -> JSONEvent? {
    let type = type(of: value)
    if type == String.self { return (value as? String).map { .string($0) } }
    if type == Int.self { return (value as? Int).map { .integer(Int64($0)) } }
    if type == Double.self { return (value as? Double).map { .double($0) } }
    if type == Bool.self { return (value as? Bool).map { .bool($0) } }
    return nil
  }

  /// The event of what can be a number, a text or null of Foundation; nil for others.
  private static func bridged(_ value: Any) -> JSONEvent? {
    if value is NSNull { return .null }
    if let number = value as? NSNumber { return event(number) }
    if let text = value as? String { return .string(text) }
    if let text = value as? Substring { return .string(String(text)) }
    return nil
  }

  private static func event(_ number: NSNumber) -> JSONEvent {
    if Platform.isBool(number) { return .bool(number.boolValue) }
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return .double(number.doubleValue)
    case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max):
      return .double(number.doubleValue)
    default: return .integer(number.int64Value)
    }
  }
}

/// An optional of any type, to look into one that is hidden in an `Any`.
private protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrapped: Any? { self }
}
