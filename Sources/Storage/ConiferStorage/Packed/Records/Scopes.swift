public import ConiferKeyValue
import ConiferLeafStore

/// The scopes of records that a layer may make unreadable separately: those of a tree, those of a
/// lane.
enum Scopes {
  static let layout = RecordLayout(spaces: Spaces.all, scopeLength: length)

  /// How many leading bytes of a key name its scope.
  ///
  /// Records that only count (usage, a lane's totals) belong to the enclosing scope, so that they
  /// can be updated when the scope itself cannot be read.
  static func length(_ space: UInt8, _ key: RawSpan) -> Int {
    guard key.byteCount >= 4, space != Spaces.usage.id else { return 0 }
    let tree = key.unsafeLoadUnaligned(as: UInt32.self)
    guard tree != 0 else { return 0 }
    switch space {
    case Spaces.queue.id, Spaces.queueParts.id, Spaces.queueIndex.id, Spaces.finished.id,
      Spaces.overlays.id, Spaces.earlierOverlays.id:
      guard let end = zero(key, from: 4) else { return 4 }
      let isTotals =
        space == Spaces.queue.id && key.byteCount == end + 2
        && key.unsafeLoad(fromByteOffset: end + 1, as: UInt8.self) == 0xFF
      return isTotals ? 4 : end + 1
    default: return 4
    }
  }

  private static func zero(_ key: RawSpan, from start: Int) -> Int? {
    var at = start
    while at < key.byteCount {
      if key.unsafeLoad(fromByteOffset: at, as: UInt8.self) == 0 { return at }
      at += 1
    }
    return nil
  }
}

extension StoreScope {
  /// The records of a tree, its lanes' included.
  public static func tree(_ tree: TreeID) -> StoreScope {
    StoreScope(prefix: StoreKey.prefix(tree))
  }

  /// The writes of a lane: waiting, rejected and finished ones.
  public static func lane(_ lane: Lane) -> StoreScope {
    StoreScope(prefix: StoreKey.prefix(lane.tree) + Bytes(lane.identity.utf8) + [0])
  }

  /// The tree that the records belong to, or nil for those of the store itself.
  public var tree: TreeID? { prefix.count >= 4 ? StoreKey.tree(prefix) : nil }

  /// The lane that the records belong to, or nil when they belong to none.
  public var lane: Lane? {
    guard let tree, prefix.count > 4, prefix.last == 0,
      let identity = String(validating: prefix[4...].dropLast(), as: UTF8.self)
    else { return nil }
    return Lane(tree: tree, identity: identity)
  }
}
