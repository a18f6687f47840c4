/// The number of a tree, which is the data of one database in a store, be it nodes or documents.
///
/// Trees share a store's file and its commits, but no record: each can be measured and wiped
/// separately.
public struct TreeID: Hashable, Comparable, Sendable {
  /// The number that begins each of the tree's keys; 0 is the store itself and no tree.
  public let rawValue: UInt32

  /// The tree with a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Orders trees by the time of their creation.
  public static func < (a: TreeID, b: TreeID) -> Bool { a.rawValue < b.rawValue }
}
