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

  private init(sorted paths: [FieldPath]) { self.paths = paths }

  /// The mask of no path.
  public static let empty = FieldMask([])

  /// Whether there is no path.
  public var isEmpty: Bool { paths.isEmpty }

  /// Whether a field is one of the mask's, or within one.
  public func covers(_ field: FieldPath) -> Bool {
    (1...field.names.count).contains { count in
      let path = FieldPath(unchecked: Array(field.names[..<count]))
      let place = place(of: path)
      return place < paths.count && paths[place] == path
    }
  }

  /// Whether a path is the field, or within it.
  func reaches(into field: FieldPath) -> Bool {
    // In sorted order what is within a path follows it directly.
    let place = place(of: field)
    return place < paths.count && field.contains(paths[place])
  }

  /// Whether the field is one of the mask's, within one, or around one.
  func overlaps(_ field: FieldPath) -> Bool { reaches(into: field) || covers(field) }

  /// The place of the first path that does not come before another one.
  private func place(of path: FieldPath) -> Int {
    var (low, high) = (0, paths.count)
    while low < high {
      let middle = (low + high) / 2
      if paths[middle] < path { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The paths of both.
  public func union(_ other: some Sequence<FieldPath>) -> FieldMask { FieldMask(paths + other) }

  /// The mask without paths that are within others of it.
  var outermost: FieldMask {
    // In sorted order what is within a path follows it directly.
    var kept: [FieldPath] = []
    for path in paths where kept.last?.contains(path) != true { kept.append(path) }
    return FieldMask(sorted: kept)
  }

  /// The first path that is a prefix of another one, and that other one; nil when there is none.
  var overlap: (FieldPath, FieldPath)? {
    // In sorted order what is within a path follows it directly.
    for (path, next) in zip(paths, paths.dropFirst()) where path.contains(next) {
      return (path, next)
    }
    return nil
  }
}
