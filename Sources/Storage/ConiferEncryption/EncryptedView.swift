#if Encryption
  import ConiferKeyValue
  import Synchronization

  /// A frozen view of an encrypted store.
  final class EncryptedView: OrderedView {
    private let base: any OrderedView
    private let ring: KeyRing
    /// The generation in which the view counts as open, until it is closed.
    private let generation: Mutex<Int?>

    init(_ base: any OrderedView, _ ring: KeyRing, _ generation: Int) {
      self.base = base
      self.ring = ring
      self.generation = Mutex(generation)
    }

    deinit { leave() }

    func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
      guard space.id != Space.layer.id else { return nil }
      let result = try base.get(space, key) { value in
        Result<R, StoreError> { () throws(StoreError) in
          switch try ring.open(space, key.span.bytes, value) {
          case .value(let plain): return read(plain.span.bytes)
          case .damaged: throw Self.damaged(space, key, Bytes(value))
          case .withheld(_, .lost): throw Self.damaged(space, key, Bytes(value))
          case .withheld(let scope, let why):
            throw KeyRing.withheld(scope, why, Self.place(space, key))
          }
        }
      }
      return try result?.get()
    }

    func walk(
      _ space: Space, _ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step
    ) throws(StoreError) {
      guard space.id != Space.layer.id else { return }
      let startScope = startScope(space, origin)
      var failure: StoreError?
      try base.walk(space, origin) { key, value in
        do throws(StoreError) {
          switch try ring.open(space, key, value) {
          case .value(let plain): return visit(key, plain.span.bytes)
          case .damaged: failure = Self.damaged(space, Bytes(key), Bytes(value))
          case .withheld(let scope, let why):
            // A walk over all scopes skips those that cannot be read.
            if scope != startScope { return .next }
            failure =
              why == .lost
              ? Self.damaged(space, Bytes(key), Bytes(value))
              : KeyRing.withheld(scope, why, Self.place(space, Bytes(key)))
          }
        } catch {
          failure = error
        }
        return .stop
      }
      if let failure { throw failure }
    }

    func walkKeys(
      _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int) -> Step
    ) throws(StoreError) {
      guard space.id != Space.layer.id else { return }
      try base.walk(space, origin) { key, value in
        visit(key, SealedRecord.Head(value)?.size ?? value.byteCount)
      }
    }

    func walkLocked(
      _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
    ) throws(StoreError) {
      guard space.id != Space.layer.id else { return }
      var failure: StoreError?
      try base.walk(space, origin) { key, value in
        do throws(StoreError) {
          guard let head = SealedRecord.Head(value), let why = try ring.missing(space, key, head)
          else { return .next }
          return visit(key, head.size, why)
        } catch {
          failure = error
          return .stop
        }
      }
      if let failure { throw failure }
    }

    func close() {
      base.close()
      leave()
    }

    private func leave() {
      let left = generation.withLock { held in
        defer { held = nil }
        return held
      }
      if let left { ring.leave(left) }
    }

    /// The scope in which a walk begins.
    private func startScope(_ space: Space, _ origin: Origin) -> StoreScope {
      switch origin {
      case .atOrAfter(let key), .atOrBefore(let key): ring.layout.scope(space, key.span.bytes)
      }
    }

    private static func place(_ space: Space, _ key: Bytes) -> StoreError.Place {
      StoreError.Place(space: space.id, key: key)
    }

    private static func damaged(_ space: Space, _ key: Bytes, _ found: Bytes) -> StoreError {
      StoreError(
        .damaged,
        "An encrypted record was changed or does not belong here. In a cache it is set aside at the "
          + "next read; for the only copy restore a backup.",
        cause: "space \(space.id)", place: place(space, key), found: found)
    }
  }
#endif
