/// A tree of a store: one namespace of one identity, or later one collection.
///
/// Trees share a store's file and its commits, but no record: each can be measured and wiped alone.
public struct TreeID: Hashable, Comparable, Sendable {
  /// The number that begins each of the tree's keys; 0 is the store itself and no tree.
  public let rawValue: UInt32

  /// The tree with a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Orders trees by the time of their creation.
  public static func < (a: TreeID, b: TreeID) -> Bool { a.rawValue < b.rawValue }
}

/// How a tree orders the keys of siblings; declared when the tree is made, never changed.
public enum KeyOrder: UInt8, Sendable {
  /// Integers first, numerically, then UTF-16 code units: the Realtime Database's order.
  case realtimeDatabase = 0
  /// Plain UTF-8 bytes: the order of document stores.
  case utf8 = 1
}

/// What a store knows of a tree.
public struct TreeInfo: Hashable, Sendable {
  /// The tree.
  public let id: TreeID
  /// The name it was made with, unique in its store.
  public let name: String
  /// How it orders siblings.
  public let order: KeyOrder

  /// What a store knows of a tree.
  public init(id: TreeID, name: String, order: KeyOrder) {
    self.id = id
    self.name = name
    self.order = order
  }
}
