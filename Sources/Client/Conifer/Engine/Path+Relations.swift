import ConiferTree

extension Path {
  /// The root, and so on down to this path.
  var prefixes: [Path] { (0...count).map { Path(Array(keys.prefix($0))) } }

  /// Whether one of two paths is at or above the other.
  func touches(_ other: Path) -> Bool { contains(other) || other.contains(self) }

  /// The node that a path is about: the one above a last segment `.priority`.
  var owner: Path { last?.isPriority == true ? parent ?? self : self }
}
