import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Which indexes the log is told of: each once, and of places that differ in one key, such as those of all rooms, the
/// first, and then their pattern.
struct IndexAdvice {
  /// The most indexes that are named: an app may make ever other queries.
  private static let most = 100

  private var named: [IndexDefinition] = []

  /// An index would have spared much.
  ///
  /// - Returns: the index that the log is to be told of; nil when it was, or of enough others.
  mutating func add(_ index: IndexDefinition) -> IndexDefinition? {
    let alike = named.filter { $0.components == index.components }
    guard named.count < Self.most, !alike.contains(where: { $0.covers(index.pattern) }) else {
      return nil
    }
    let new = alike.lazy.compactMap { $0.pattern(with: index) }.first ?? index
    named.append(new)
    return new
  }
}

extension IndexDefinition {
  /// This index for any key where one of its keys differs from another index's. The first key of a path is taken for the
  /// name of a collection, which stands for nothing else.
  fileprivate func pattern(with other: IndexDefinition) -> IndexDefinition? {
    guard pattern.count == other.pattern.count else { return nil }
    var keys = Array(pattern.keys)
    let differing = zip(keys.indices, other.pattern.keys).filter { index, key in
      !keys[index].isWildcard && keys[index] != key
    }
    guard let (place, _) = differing.first, differing.count == 1, place > 0 else { return nil }
    let count = keys.count(where: \.isWildcard)
    keys[place] = Key(count == 0 ? "$key" : "$key\(count + 1)")
    return try? IndexDefinition(Path(keys), components)
  }
}

extension Key {
  /// Whether it stands for any key in the pattern of an index.
  fileprivate var isWildcard: Bool { string.utf8.first == UInt8(ascii: "$") }
}
