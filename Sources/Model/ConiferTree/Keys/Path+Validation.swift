extension Path {
  /// The most keys a path may have.
  public static let deepest = 32

  /// A path that an app names.
  ///
  /// The first key may be `.info`, the last `.priority`.
  ///
  /// - Parameter string: keys separated by `/`; empty segments are ignored.
  /// - Throws: `TreeError.invalidKey`, `.pathTooLong` (768 UTF-8 bytes with a slash before each
  ///   key) or `.pathTooDeep` (32 keys), as the Realtime Database rules.
  public init(validating string: String) throws(TreeError) {
    self.init(string)
    try validate(allowingInfo: true)
  }

  /// Checks that an app may write a node at this path: keys, limits of every whole path, and values.
  ///
  /// - Parameter node: the data; empty when the place is to be deleted.
  /// - Throws: `TreeError.invalidKey`, `.pathTooLong`, `.pathTooDeep`, `.leafTooLarge` (strings
  ///   over 10 MiB of UTF-8), `.invalidValue` (not a finite number), `.invalidServerValue`, or
  ///   `.invalidPriority` when the path ends in `.priority` and the node is not a priority.
  public func validate(writing node: Node) throws(TreeError) {
    try validate(allowingInfo: false)
    if last?.isPriority == true, !node.isEmpty, node.asPriority == nil {
      throw TreeError(
        .invalidPriority,
        "\(self): a priority is a string, a finite number or a server value, without a priority "
          + "of its own. Write one of those, or nothing to remove the priority.")
    }
    var keys = keys
    if last?.isPriority == true { keys.removeLast() }
    var walk = WriteCheck(keys: keys)
    try walk.visit(node)
  }

  /// Checks that no path of an update is the same as, or above, another one.
  ///
  /// - Parameter paths: the update's paths in any order.
  /// - Throws: `TreeError.invalidMerge`.
  public static func validate(merging paths: some Sequence<Path>) throws(TreeError) {
    let sorted = paths.sorted()
    for (upper, lower) in zip(sorted, sorted.dropFirst()) where upper.contains(lower) {
      throw TreeError(
        .invalidMerge,
        "The update writes \(upper) and also \(lower), which is the same place or below it. "
          + "Put both into one value.")
    }
  }

  private func validate(allowingInfo: Bool) throws(TreeError) {
    var check = WriteCheck(keys: [])
    for (i, key) in keys.enumerated() {
      if allowingInfo, i == 0, key == .info { continue }
      if key.isPriority, i == keys.count - 1 { continue }
      try key.validate()
      try check.push(key)
    }
  }
}

/// A walk over data to be written that knows the whole path of where it is.
private struct WriteCheck {
  private(set) var keys: [Key]
  private var bytes: Int

  init(keys: [Key]) {
    self.keys = keys
    self.bytes = keys.reduce(0) { $0 + 1 + $1.utf8Count }
  }

  mutating func push(_ key: Key) throws(TreeError) {
    keys.append(key)
    bytes += 1 + key.utf8Count
    if keys.count > Path.deepest {
      throw TreeError(
        .pathTooDeep,
        "\(Path(keys)) has more than \(Path.deepest) keys. Nest the data less deeply.")
    }
    if bytes > Key.longest {
      throw TreeError(
        .pathTooLong,
        "\(Path(keys)) is longer than \(Key.longest) UTF-8 bytes. Use shorter keys.")
    }
  }

  mutating func pop() {
    bytes -= 1 + (keys.popLast()?.utf8Count ?? 0)
  }

  // Recursion is bounded: `push` refuses the 33rd level.
  mutating func visit(_ node: Node) throws(TreeError) {
    if let leaf = node.leaf { try leaf.validate(at: keys) }
    if let priority = node.priority { try priority.leaf.validate(at: keys + [.priority]) }
    for child in node.children {
      try child.key.validate()
      try push(child.key)
      try visit(child.node)
      pop()
    }
  }
}
