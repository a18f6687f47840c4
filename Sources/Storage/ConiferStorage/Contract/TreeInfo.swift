public import ConiferKeyValue

/// How a tree orders the keys of siblings; declared when the tree is made, never changed.
public enum KeyOrder: UInt8, Sendable {
  /// Integers first, numerically, then UTF-16 code units: the Realtime Database's order.
  case realtimeDatabase = 0
  /// Plain UTF-8 bytes: the order of document stores.
  case utf8 = 1
  /// A tree of documents: collections by the UTF-8 of their paths, in each the documents by their ids, numeric ids
  /// first. It is read and changed by ``DocumentView`` and ``DocumentEdit``.
  case documents = 2
}

/// The number, name and key order of a tree.
public struct TreeInfo: Hashable, Sendable {
  /// The tree.
  public let id: TreeID
  /// The name it was made with, unique in its store.
  public let name: String
  /// How it orders siblings.
  public let order: KeyOrder

  /// The number, name and key order of a tree.
  public init(id: TreeID, name: String, order: KeyOrder) {
    self.id = id
    self.name = name
    self.order = order
  }
}
