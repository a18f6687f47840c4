import ConiferTree

/// Turns the arguments of writes into what the engine takes, or says why they make no sense.
enum WriteRules {
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
