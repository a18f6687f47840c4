/// A set of field paths, which says which fields a write changes.
public struct FieldMask: Sendable, Hashable {
  /// The paths, sorted; none is there twice.
  public let paths: [FieldPath]

  /// A mask.
  ///
  /// - Parameter paths: the paths, in any order; repeated ones count once.
  public init(_ paths: some Sequence<FieldPath>) {
    var sorted: [FieldPath] = []
    for path in paths.sorted() where sorted.last != path { sorted.append(path) }
    self.paths = sorted
  }

  /// The mask of no path.
  public static let empty = FieldMask([])

  /// Whether there is no path.
  public var isEmpty: Bool { paths.isEmpty }

  /// Whether a field is one of the mask's, or within one.
  public func covers(_ field: FieldPath) -> Bool { paths.contains { $0.contains(field) } }

  /// The paths of both.
  public func union(_ other: some Sequence<FieldPath>) -> FieldMask { FieldMask(paths + other) }

  /// The first path that is another one's beginning, and that other one; none when each stands alone.
  var overlap: (FieldPath, FieldPath)? {
    // In sorted order what is within a path follows it directly.
    for (path, next) in zip(paths, paths.dropFirst()) where path.contains(next) {
      return (path, next)
    }
    return nil
  }
}
