import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Paths in the keys of small indexes. A long path is cut; a mark after it sorts before all
/// children.
///
/// Rows of exactly a path follow its bytes and the mark; rows of its descendants come after these.
/// Paths that were cut share rows with their neighbours, so readers must check the record.
enum IndexKey {
  /// How many bytes of a path a row holds.
  static let longest = 160
  /// Between a row's path and its number.
  static let mark: UInt8 = 0x01

  /// The bytes of a path, cut when long.
  static func path(_ path: Path, _ order: KeyOrder) -> Bytes {
    Bytes(PathKey.encode(path, order).prefix(longest))
  }

  /// The beginning of the rows of exactly a path.
  static func exact(_ prefix: Bytes, _ path: Path, _ order: KeyOrder) -> Bytes {
    prefix + Self.path(path, order) + [mark]
  }

  /// The row of a path and a number.
  static func row(_ prefix: Bytes, _ path: Path, _ order: KeyOrder, _ number: UInt64) -> Bytes {
    exact(prefix, path, order) + StoreKey.number(number)
  }
}
