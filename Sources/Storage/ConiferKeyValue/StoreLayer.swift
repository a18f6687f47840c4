/// A layer that wraps any store when it is opened, such as encryption.
///
/// A layer is itself an ordered store to those above it. Its own records lie in `Space.layer` of the
/// store below, which it hides.
public protocol StoreLayer: AnyObject, Sendable {
  /// Lays the layer over an open store, which belongs to it from then on.
  ///
  /// - Parameters:
  ///   - store: an open store; when this throws, the caller closes it.
  ///   - layout: what the keys of its records mean.
  /// - Throws: `wrongKey`, `damaged`, `newerFormat`, `invalid`, and as the store; nothing was changed
  ///   then.
  func open(
    over store: any OrderedStore, _ layout: RecordLayout
  ) throws(StoreError) -> any OrderedStore
}

extension Space {
  /// Where a layer over a store keeps its own records; nobody else may use it.
  public static let layer = Space(id: 239, shape: .rows)
}

/// The layout of a store's keys as far as a layer needs it, which is the spaces and each key's
/// scope.
public struct RecordLayout: Sendable {
  /// The spaces that are in use.
  public let spaces: [Space]
  private let measure: @Sendable (UInt8, RawSpan) -> Int

  /// A layout.
  ///
  /// - Parameters:
  ///   - spaces: all that are in use.
  ///   - scopeLength: how many leading bytes of a key, in the space with a number, name its scope; 0
  ///     for records of the store itself.
  public init(
    spaces: [Space], scopeLength: @escaping @Sendable (_ space: UInt8, _ key: RawSpan) -> Int
  ) {
    self.spaces = spaces
    self.measure = scopeLength
  }

  /// How many leading bytes of a key name its scope.
  public func scopeLength(_ space: Space, _ key: RawSpan) -> Int {
    min(max(0, measure(space.id, key)), key.byteCount)
  }

  /// The scope of a record.
  public func scope(_ space: Space, _ key: RawSpan) -> StoreScope {
    StoreScope(prefix: Bytes(key.extracting(first: scopeLength(space, key))))
  }
}

/// A scope of records that can be made unreadable separately: those of the store itself, of a tree,
/// or of a lane of the queue.
public struct StoreScope: Hashable, Sendable {
  /// The leading bytes that the keys of its records share; empty for the store itself.
  ///
  /// A scope lies within another one when its prefix begins with the other's.
  public let prefix: Bytes

  /// The scope of a prefix.
  public init(prefix: Bytes) { self.prefix = prefix }

  /// The scope of all that belongs to no tree and no lane; all other scopes lie within it.
  public static let store = StoreScope(prefix: [])

  /// Whether another scope is this one or lies within it.
  public func contains(_ other: StoreScope) -> Bool { other.prefix.starts(with: prefix) }
}
