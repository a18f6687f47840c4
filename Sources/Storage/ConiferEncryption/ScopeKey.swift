#if Encryption
  import ConiferKeyValue
  import Crypto

  /// The data key of a scope, from one session on; at rest it is wrapped.
  ///
  /// Record: `kind u8 (0 erased, 1 wrapped with the store's key, 2 also, inside, with the scope's own),
  /// wrapped key`.
  struct ScopeKey: Sendable {
    private static let erased: UInt8 = 0
    private static let ofStore: UInt8 = 1
    private static let ofScope: UInt8 = 2

    let scope: StoreScope
    /// The first session whose records it seals.
    let first: UInt32
    /// The stored fields, or nil when they are damaged.
    private(set) var payload: Bytes?
    /// The data key, once it was unwrapped.
    private var opened: SymmetricKey?

    /// The record that replaces a scope's erased keys.
    init(erased scope: StoreScope) {
      self.scope = scope
      first = 0
      payload = [Self.erased]
    }

    /// A stored key.
    init(stored payload: Bytes?, _ scope: StoreScope, _ first: UInt32) {
      self.scope = scope
      self.first = first
      self.payload = payload
    }

    /// A new, random key.
    ///
    /// - Parameters:
    ///   - own: the key that the app keeps for this scope, if it keeps one.
    init(
      _ scope: StoreScope, _ first: UInt32, _ master: MasterKey, own: MasterKey?
    ) throws(StoreError) {
      self.scope = scope
      self.first = first
      var key = MasterKey.random(32)
      opened = SymmetricKey(data: key)
      let kind = own == nil ? Self.ofStore : Self.ofScope
      let context = Self.context(scope, first, kind)
      if let own { key = try own.wrap(key, for: context) }
      payload = [kind] + (try master.wrap(key, for: context))
    }

    var isErased: Bool { payload?.first == Self.erased }
    /// Whether the app keeps a key for this scope.
    var hasOwnKey: Bool { payload?.first == Self.ofScope }

    var recordKey: Bytes { LayerRecord.scopeKey(scope, first) }

    private static func context(_ scope: StoreScope, _ first: UInt32, _ kind: UInt8) -> Bytes {
      LayerRecord.scopeKey(scope, first) + [kind]
    }

    /// The result of unwrapping.
    enum Opening {
      case key(SymmetricKey)
      case missing(MissingKey)
    }

    /// The data key, or the reason why there is none.
    mutating func open(_ master: MasterKey, own: () throws(StoreError) -> MasterKey?)
      throws(StoreError) -> Opening
    {
      if let opened { return .key(opened) }
      guard let payload, let kind = payload.first else { return .missing(.lost) }
      if kind == Self.erased { return .missing(.erased) }
      let context = Self.context(scope, first, kind)
      guard var key = master.unwrap(Bytes(payload.dropFirst()), for: context) else {
        return .missing(.notGiven)
      }
      if kind == Self.ofScope {
        guard let inner = try own()?.unwrap(key, for: context) else { return .missing(.notGiven) }
        key = inner
      }
      let whole = SymmetricKey(data: key)
      opened = whole
      return .key(whole)
    }

    /// Whether the app's key is the one with which this key is wrapped; an already opened key does
    /// not count.
    func opens(_ master: MasterKey, _ own: MasterKey) throws(StoreError) -> Bool {
      var closed = self
      closed.opened = nil
      guard case .key = try closed.open(master, own: { () throws(StoreError) in own }) else {
        return false
      }
      return true
    }

    /// This key wrapped with another key of the store; the scope's own key is not needed.
    func rewrapped(from old: MasterKey, to new: MasterKey) throws(StoreError) -> ScopeKey {
      guard let payload, let kind = payload.first, kind != Self.erased else { return self }
      let context = Self.context(scope, first, kind)
      // A key that cannot be unwrapped is kept as it is, and stays unreadable.
      guard let key = old.unwrap(Bytes(payload.dropFirst()), for: context) else { return self }
      var other = self
      other.payload = [kind] + (try new.wrap(key, for: context))
      return other
    }
  }
#endif
