import ConiferTree

/// Where views are open, to tell whether a write concerns one of them.
struct ViewPaths {
  private var views: [Path: Int] = [:]
  /// How many views are open at or below a path.
  private var below: [Path: Int] = [:]

  mutating func add(_ path: Path) {
    views[path, default: 0] += 1
    for prefix in path.prefixes { below[prefix, default: 0] += 1 }
  }

  mutating func remove(_ path: Path) {
    guard let count = views[path] else { return }
    views[path] = count > 1 ? count - 1 : nil
    for prefix in path.prefixes {
      guard let count = below[prefix] else { continue }
      below[prefix] = count > 1 ? count - 1 : nil
    }
  }

  /// Whether a view is open at a path or above it.
  func covers(_ path: Path) -> Bool { path.prefixes.contains { views[$0] != nil } }

  /// Whether a view is open at a path, above or below it.
  func touches(_ path: Path) -> Bool { below[path] != nil || covers(path) }

  /// Whether a view is open at a path or below it.
  func isOpen(below path: Path) -> Bool { below[path] != nil }

  /// The paths of the views.
  var paths: some Collection<Path> { views.keys }
}

extension Path {
  /// The root, and so on down to this path.
  var prefixes: [Path] { (0...count).map { Path(Array(keys.prefix($0))) } }

  /// Whether one of two paths is at or above the other.
  func touches(_ other: Path) -> Bool { contains(other) || other.contains(self) }

  /// The node that a path is about: the one above a last segment `.priority`.
  var owner: Path { last?.isPriority == true ? parent ?? self : self }
}
