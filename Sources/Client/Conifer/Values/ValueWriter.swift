import ConiferTree
import Foundation

/// Turns nodes into what an app reads.
///
/// Numbers are `NSNumber`, so that they can be cast to `Int`, to `Double` and to any other type of
/// number that holds them, on Linux as on Apple systems: with an `Int` in an `Any`, `as? Double`
/// would fail whenever a number happens to be whole.
enum ValueWriter {
  /// The value without priorities; a map as an array where the Realtime Database shows one.
  static func plain(_ node: Node) -> Any? {
    if let leaf = node.leaf { return value(leaf) }
    if node.isEmpty { return nil }
    guard node.isArray else { return dictionary(node, plain) }
    var array: [Any] = []
    node.forEachChild { key, child in
      while array.count < Int(key.integer ?? 0) { array.append(NSNull()) }
      array.append(plain(child) ?? NSNull())
    }
    return array
  }

  /// The value with priorities, from which the same node can be written again.
  static func export(_ node: Node) -> Any? {
    if node.isEmpty { return nil }
    guard let leaf = node.leaf else {
      var dictionary = dictionary(node, export)
      if let priority = node.priority { dictionary[".priority"] = value(priority.leaf) }
      return dictionary
    }
    guard let priority = node.priority else { return value(leaf) }
    return [".value": value(leaf), ".priority": value(priority.leaf)] as [String: Any]
  }

  /// A leaf's value; a server value as the map that stands for it.
  static func value(_ leaf: Leaf) -> Any {
    switch leaf {
    case .string(let text): text
    case .integer(let number): NSNumber(value: number)
    case .double(let number): NSNumber(value: number)
    case .bool(let flag): flag
    case .serverValue(.timestamp): [".sv": "timestamp"]
    case .serverValue(.increment(let delta)):
      [".sv": ["increment": value(delta)] as [String: Any]] as [String: Any]
    case .serverValue(.other(let name)): [".sv": name]
    }
  }

  private static func dictionary(
    _ node: Node, _ value: (Node) -> Any?
  ) -> [String: Any] {
    var dictionary = [String: Any](minimumCapacity: node.childCount)
    node.forEachChild { key, child in dictionary[key.string] = value(child) }
    return dictionary
  }
}
