/// A list of edits that a store applies whole or not at all, in the order in which they were added.
///
/// A later edit of a key wins over an earlier one, also over an earlier `clear` that covers it.
public struct Batch: Sendable {
  /// One edit of a batch, which puts a key, deletes a key, or clears a range of keys.
  public enum Edit: Sendable, Equatable {
    /// Stores a value under a key, replacing what was there.
    case put(Space, key: Bytes, value: Bytes)
    /// Removes a key; no error if it is absent.
    case delete(Space, key: Bytes)
    /// Removes every key in `from ..< to`; nothing when `to <= from`.
    case clear(Space, from: Bytes, to: Bytes)
  }

  /// The edits, in order.
  public private(set) var edits: [Edit] = []
  /// Whether the batch frees space, or is a step towards that, as in eviction. A store's reserve
  /// for a full disk is only for such batches, and for those that put nothing.
  public var frees = false

  /// An empty batch.
  public init() {}

  /// Whether nothing would change.
  public var isEmpty: Bool { edits.isEmpty }

  /// Stores a value under a key, replacing what was there.
  public mutating func put(_ space: Space, _ key: Bytes, _ value: Bytes) {
    edits.append(.put(space, key: key, value: value))
  }

  /// Removes a key; no error if it is absent.
  public mutating func delete(_ space: Space, _ key: Bytes) {
    edits.append(.delete(space, key: key))
  }

  /// Removes every key in `from ..< to` of a space.
  public mutating func clear(_ space: Space, from: Bytes, to: Bytes) {
    edits.append(.clear(space, from: from, to: to))
  }
}
