public import ConiferTree

extension QuerySpec {
  /// Whether a child belongs to the range; the limit does not count.
  /// - Parameters:
  ///   - key: The child's key.
  ///   - node: The child.
  public func contains(_ key: Key, _ node: Node) -> Bool {
    guard start != nil || end != nil else { return !node.isEmpty }
    if node.isEmpty { return false }
    if index == .key {
      return position(of: key, against: start, isStart: true) >= 0
        && position(of: key, against: end, isStart: false) <= 0
    }
    let value = index.value(of: key, node)
    return position(of: value, key, against: start, isStart: true) >= 0
      && position(of: value, key, against: end, isStart: false) <= 0
  }

  /// The position of a child relative to a bound: negative before it, zero on an inclusive bound,
  /// positive after it.
  ///
  /// A bound without a key lies before or after all children of its value, depending on its end and
  /// on whether it is inclusive.
  func position(of value: Node, _ key: Key, against bound: Bound?, isStart: Bool) -> Int {
    guard let bound else { return 0 }
    let order = Node.compareValues(value, bound.value.map { Node($0) } ?? .empty)
    if order != 0 { return order }
    let keys = bound.key.map { Key.compare(key, $0) } ?? 0
    if keys != 0 || bound.inclusive { return keys }
    return isStart ? -1 : 1
  }

  func position(of key: Key, against bound: Bound?, isStart: Bool) -> Int {
    guard let bound, let limit = bound.keyOfKeyIndex else { return 0 }
    let order = Key.compare(key, limit)
    return order != 0 || bound.inclusive ? order : (isStart ? -1 : 1)
  }
}

extension QuerySpec.Bound {
  /// In a query by key, the key that the value names.
  var keyOfKeyIndex: Key? {
    if case .string(let text)? = value { return Key(text) }
    return nil
  }
}
