import ConiferKeyValue
import Synchronization

/// A view of a log store: a snapshot, whose files it keeps.
final class LogView: OrderedView {
  private let snapshot: Mutex<Snapshot?>
  private let published: Published
  private let lease: LogLease
  /// Called once, when the view ends.
  private let ended: @Sendable () -> Void

  init(
    _ published: Published, _ lease: LogLease, ended: @escaping @Sendable () -> Void = {}
  ) {
    self.ended = ended
    self.snapshot = Mutex(published.state.withLock { $0.snapshot })
    self.published = published
    self.lease = lease
  }

  deinit { close() }

  func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {}

  func close() {
    // Moved out first: releasing the last reference closes files, which need not happen under the
    // lock.
    let last = snapshot.withLock { snapshot in
      let last = snapshot
      snapshot = nil
      return last
    }
    let isOpen = last != nil
    _ = consume last
    if isOpen { ended() }
  }

  /// The snapshot, taken out of the lock so that a closure may read the view again.
  private func frozen() throws(StoreError) -> Snapshot {
    if lease.isOver.load(ordering: .acquiring) {
      close()
      throw .viewClosed
    }
    return try snapshot.withLock { (snapshot) throws(StoreError) -> Snapshot in
      guard let snapshot else { throw .viewClosed }
      return snapshot
    }
  }

  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R? {
    let frozen = try frozen()
    let stored = space.stored(key)
    switch try frozen.find(stored) {
    case nil, .gone: return nil
    case .small(let bytes): return read(bytes.span.bytes)
    case .value(let pointer):
      var buffer = ReadBuffer()
      return read(try frozen.value(pointer, stored, &buffer).bytes)
    }
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    let frozen = try frozen()
    var buffer = ReadBuffer()
    try walk(frozen, space, origin) { (key, slot) throws(StoreError) in
      let own = UnsafeRawBufferPointer(rebasing: key.dropFirst()).bytes
      return try frozen.lend(slot, key, &buffer) { visit(own, $0) }
    }
  }

  /// The index knows the size of every value: none is read.
  func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ size: Int) -> Step
  ) throws(StoreError) {
    try walk(frozen(), space, origin) { key, slot in
      visit(UnsafeRawBufferPointer(rebasing: key.dropFirst()).bytes, slot.size)
    }
  }

  /// - Parameter visit: gets a key behind its space's number, and what the index knows of it.
  private func walk(
    _ frozen: Snapshot, _ space: Space, _ origin: Origin,
    _ visit: (_ key: UnsafeRawBufferPointer, _ slot: LentSlot) throws(StoreError) -> Step
  ) throws(StoreError) {
    let (ascends, start) =
      switch origin {
      case .atOrAfter(let key): (true, space.stored(key))
      case .atOrBefore(let key): (false, space.stored(key))
      }
    var cursor = MergedCursor(frozen, ascends: ascends)
    var gone = DeletedRun()
    try cursor.seek(start)
    while !cursor.isAtEnd {
      let found = try cursor.current { (key, slot) throws(StoreError) -> Found in
        guard key.first == space.id else { return .outside }
        if case .gone = slot { return .gone(Bytes(key)) }
        if ascends, gone.isLongEnough { gone.end = Bytes(key) }
        let step = try visit(key, slot)
        guard case .jump(let target) = step else { return .visited(step) }
        // A jump never goes back: for a target behind the current key the walk goes to the next
        // key.
        let order = UnsafeRawBufferPointer(rebasing: key.dropFirst()).bytes.compare(target)
        return .visited((ascends ? order < 0 : order > 0) ? step : .next)
      }
      switch found ?? .outside {
      case .outside:
        if ascends, gone.isLongEnough { gone.end = [space.id + 1] }
        return remember(gone, frozen)
      case .gone(let key):
        if ascends, let gap = frozen.gaps.around(key) {
          gone.pass(gap.low, count: DeletedRanges.minimumKeys)
          try cursor.seek(gap.high)
        } else {
          gone.pass(key, count: 1)
          try cursor.next()
        }
      case .visited(let step):
        remember(gone, frozen)
        gone = DeletedRun()
        switch step {
        case .stop: return
        case .next: try cursor.next()
        case .jump(let target): try cursor.seek(space.stored(target))
        }
      }
      if lease.isOver.load(ordering: .acquiring) { throw .viewClosed }
    }
    if ascends, gone.isLongEnough { gone.end = [space.id + 1] }
    remember(gone, frozen)
  }

  /// The deleted keys that a walk passed.
  private enum Found {
    case outside
    case gone(Bytes)
    case visited(Step)
  }

  private func remember(_ gone: DeletedRun, _ seen: Snapshot) {
    guard let low = gone.start, let high = gone.end else { return }
    published.state.withLock { $0.remember(gone: low, upTo: high, in: seen) }
  }
}

/// The deleted keys that an ascending walk just passed.
private struct DeletedRun {
  private(set) var start: Bytes?
  /// The first key after the range, when the range is long enough to remember.
  var end: Bytes?
  private var count = 0

  var isLongEnough: Bool { count >= DeletedRanges.minimumKeys }

  mutating func pass(_ key: Bytes, count more: Int) {
    start = start ?? key
    count += more
  }
}

/// The lifetime of views: from opening or `resume` to the next `suspend` or `close`.
final class LogLease: Sendable {
  let isOver = Atomic(false)
}
