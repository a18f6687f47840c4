/// The key at which a walk begins, with the walk's direction.
public enum Origin: Sendable {
  /// The first key at or after this one; the walk ascends.
  case atOrAfter(Bytes)
  /// The last key at or before this one; the walk descends.
  case atOrBefore(Bytes)
}

/// The next step of a walk after a visit, which is to go on, to stop, or to jump to another key.
public enum Step: Sendable {
  /// Goes on to the neighbour in the walk's direction.
  case next
  /// Ends the walk.
  case stop
  /// Goes on at the first key at or after this one (descending: the last at or before it).
  ///
  /// A target behind the current key means `next`: a walk never changes direction or repeats.
  case jump(Bytes)
}

/// A frozen state of a store: all reads of one view see the same commit.
///
/// Bytes are lent for the length of the closure and compared as unsigned bytes. A view may be read
/// on any thread, by one thread at a time, while commits continue. It prevents the reuse of pages,
/// so release it (drop or close it) within milliseconds. After `close` every read throws
/// ``StoreError/Code/closed``.
public protocol OrderedView: AnyObject, Sendable {
  /// Lends the value of a key.
  ///
  /// - Returns: what `read` returned, or nil when the key is absent.
  /// - Throws: `io`, `damaged`, `closed`.
  func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R?

  /// Visits the keys of one space in order from an origin, lending each key (without the space
  /// byte) and its value, until the space ends or the closure says stop.
  ///
  /// - Throws: `io`, `damaged`, `closed`.
  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError)

  /// Visits the keys of one space in order from an origin with the sizes of their values, which need
  /// not be readable: also those of damaged records and of those whose encryption key is gone.
  ///
  /// In a store where every value is readable it visits the same keys as `walk`.
  ///
  /// - Throws: as `walk`.
  func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ size: Int) -> Step
  ) throws(StoreError)

  /// Visits the keys of those records of one space, in order from an origin, whose encryption key is
  /// missing, with the sizes of their values and why; nothing is decrypted.
  ///
  /// Stores without encryption visit nothing.
  ///
  /// - Throws: `io`, `closed`.
  func walkLocked(
    _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ size: Int, _ why: MissingKey) -> Step
  ) throws(StoreError)

  /// Releases the view; a second call does nothing.
  func close()
}

/// The reason why the encryption key of records is missing.
public enum MissingKey: String, Sendable {
  /// It was destroyed on purpose: reading them throws `wrongKey`, for ever.
  case erased
  /// The scope has a key of its own, which is missing or wrong: reading throws `wrongKey`.
  case notGiven = "not-given"
  /// Its stored key is damaged: reading throws `damaged`.
  case lost
}

extension OrderedView {
  /// The keys and sizes of what `walk` visits, for views in which every value is readable. A
  /// wrapper of a view with unreadable values must forward the call instead.
  public func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ size: Int) -> Step
  ) throws(StoreError) {
    try walk(space, origin) { key, value in visit(key, value.byteCount) }
  }

  /// A copy of the value of a key, or nil when it is absent.
  ///
  /// - Throws: as `get`.
  public func value(_ space: Space, _ key: Bytes) throws(StoreError) -> Bytes? {
    try get(space, key) { Bytes($0) }
  }
}
