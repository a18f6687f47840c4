@_spi(Stores) package import ConiferKeyValue

/// The decoded runs that were used last, within a budget of bytes.
///
/// A run is cached when it is read the second time, so that data that is read once, as by an
/// export, evicts nothing. A cached run may be used when it is known to be current at the reader's
/// generation, or when the store still holds the bytes from which it was decoded.
package struct RunCache {
  private struct Key: Hashable {
    let tree: TreeID
    let number: UInt64
  }

  /// What is known of the run that comes after another.
  private enum Next {
    case unknown
    /// Its key in the store, nil when there is none, and the generation from which that holds.
    case known(Bytes?, since: UInt64)
  }

  private struct Slot {
    let key: Key
    var run: DecodedRun
    let size: Int
    /// Whether it was used since the clock hand passed by.
    var isUsed = false
    /// The generation from which it is known to be current; it is listed in `order` then.
    var since: UInt64?
    var next = Next.unknown
  }

  /// What comes after a run.
  package enum Following {
    case run(DecodedRun)
    /// No run: it is the tree's last.
    case end
  }

  /// A reading of a run that was not cached.
  private struct Reading {
    var key = Key(tree: TreeID(rawValue: 0), number: 0)
    var time = 0
  }

  private static let remembered = 1024

  private let budget: Int
  private var slots: [Slot] = []
  /// The index of each run's slot.
  private var places: [Key: Int] = [:]
  /// Runs that are known to be current at the newest generation, by their separators. Other runs
  /// must not be listed, since `change` looks here for the run before one that is written.
  private var order: [TreeID: SortedBytes<Int>] = [:]
  /// The clock hand: where the search for a run to evict begins.
  private var hand = 0
  private var size = 0
  /// The run that was written last.
  private var lastWritten: (key: Key, run: DecodedRun)?
  /// The last readings by a hash of their keys, and how many there were.
  private var readings: [Reading] = []
  private var clock = 0

  /// A cache.
  ///
  /// - Parameter budget: about how many bytes it may take; 0 keeps nothing.
  package init(budget: Int) { self.budget = budget }

  /// Whether anything is ever cached.
  package var isOff: Bool { budget == 0 }

  /// How many runs are cached, and about what they take.
  package var usage: (runs: Int, bytes: Int) { (slots.count, size) }

  // MARK: Keeping

  /// The run with a number, if it is cached; the stored one may have changed since.
  package mutating func find(_ tree: TreeID, _ number: UInt64) -> DecodedRun? {
    guard let place = places[Key(tree: tree, number: number)] else { return nil }
    slots[place].isUsed = true
    return slots[place].run
  }

  /// Counts a reading of a run that is not cached.
  ///
  /// - Returns: whether to keep it from now on.
  package mutating func countReading(_ tree: TreeID, _ head: RunHead) -> Bool {
    guard !isOff, !head.value.isEmpty else { return false }
    let key = Key(tree: tree, number: head.number)
    if readings.isEmpty { readings = Array(repeating: Reading(), count: Self.remembered) }
    let place = Int(UInt(bitPattern: key.hashValue) % UInt(Self.remembered))
    let last = readings[place]
    clock += 1
    readings[place] = Reading(key: key, time: clock)
    guard last.key == key, last.time > 0 else { return false }
    // A run that is read less often than all cached ones would be evicted before its next reading.
    return size < budget / 2 || clock - last.time <= slots.count
  }

  /// Keeps a run, and evicts others that were not used lately.
  package mutating func add(_ tree: TreeID, _ run: DecodedRun) {
    let size = run.size
    guard size <= budget / 4 else { return }
    let key = Key(tree: tree, number: run.head.number)
    if let place = places[key] { remove(place) }
    while self.size + size > budget, !slots.isEmpty {
      if hand >= slots.count { hand = 0 }
      if slots[hand].isUsed {
        slots[hand].isUsed = false
        hand += 1
      } else {
        remove(hand)
      }
    }
    places[key] = slots.count
    slots.append(Slot(key: key, run: run, size: size))
    self.size += size
  }

  /// Keeps the run that a commit wrote last until the next commit, which needs it when it appends
  /// to the run.
  package mutating func setLastWritten(_ run: DecodedRun, _ tree: TreeID) {
    lastWritten = (Key(tree: tree, number: run.head.number), run)
  }

  /// The head with its decoded run, if that is the run that was written last. Only writers use it:
  /// a read must be counted, since the count decides which runs are cached.
  package func withLastWritten(_ head: RunHead, _ tree: TreeID) -> RunHead {
    guard head.cached.run == nil, let lastWritten,
      lastWritten.key == Key(tree: tree, number: head.number),
      lastWritten.run.head.storeKey == head.storeKey, lastWritten.run.head.value == head.value
    else { return head }
    return lastWritten.run.headOfRecord
  }

  private mutating func remove(_ place: Int) {
    let slot = slots[place]
    places[slot.key] = nil
    move(slot, from: place, to: nil)
    size -= slot.size
    let last = slots.removeLast()
    if place < slots.count {
      slots[place] = last
      places[last.key] = place
      move(last, from: slots.count, to: place)
    }
  }

  /// Moves a run's entry in `order`, unless another run has its separator now.
  private mutating func move(_ slot: Slot, from place: Int, to other: Int?) {
    let separator = slot.run.head.separator
    guard order[slot.key.tree]?[separator] == place else { return }
    order[slot.key.tree]?[separator] = other
    if order[slot.key.tree]?.isEmpty == true { order[slot.key.tree] = nil }
  }

  // MARK: What is known of a generation

  /// The run that a path key belongs to at a generation, if that is known.
  package mutating func covering(_ tree: TreeID, _ key: Bytes, at generation: UInt64) -> DecodedRun?
  {
    guard let place = place(tree, key, generation) else { return nil }
    // Keys up to the run's last entry belong to it; later keys belong to it only up to the next
    // run.
    let entries = slots[place].run.entries
    if entries.isEmpty || entries.compareKey(entries.count - 1, key) < 0 {
      guard case .known(let next, let since) = slots[place].next, since <= generation else {
        return nil
      }
      if let next, !bytesPrecede(key, Bytes(next.dropFirst(4))) { return nil }
    }
    slots[place].isUsed = true
    return slots[place].run
  }

  /// The cached run that would hold a path key at a generation. After its last entry a run that is
  /// not cached may begin. Nil when it is not known.
  package mutating func nearest(_ tree: TreeID, _ key: Bytes, at generation: UInt64) -> DecodedRun?
  {
    guard let place = place(tree, key, generation) else { return nil }
    slots[place].isUsed = true
    return slots[place].run
  }

  /// The place of the last run that begins at or before a path key, if it is known at a generation.
  private func place(_ tree: TreeID, _ key: Bytes, _ generation: UInt64) -> Int? {
    guard let order = order[tree], let position = order.lastAtOrBefore(key) else { return nil }
    let place = order.entry(at: position).value
    return isKnown(place, generation) ? place : nil
  }

  private func isKnown(_ place: Int, _ generation: UInt64) -> Bool {
    slots[place].since.map { $0 <= generation } ?? false
  }

  /// What comes after the run with a key of the store at a generation; nil when that is not known.
  package mutating func next(
    _ tree: TreeID, _ storeKey: Bytes, at generation: UInt64
  ) -> Following? {
    guard let order = order[tree], let place = order[Bytes(storeKey.dropFirst(4))],
      isKnown(place, generation), case .known(let next, let since) = slots[place].next,
      since <= generation
    else { return nil }
    guard let next else { return .end }
    guard let place = order[Bytes(next.dropFirst(4))], isKnown(place, generation) else {
      return nil
    }
    slots[place].isUsed = true
    return .run(slots[place].run)
  }

  /// Records that a cached run is current at the newest generation.
  package mutating func confirm(_ tree: TreeID, _ run: DecodedRun, at generation: UInt64) {
    guard !run.head.isCut, let place = places[Key(tree: tree, number: run.head.number)],
      slots[place].run === run, slots[place].since == nil
    else { return }
    if let other = order[tree]?[run.head.separator] { forget(other) }
    slots[place].since = generation
    order[tree, default: SortedBytes()][run.head.separator] = place
  }

  /// Removes a run from those known to be current.
  private mutating func forget(_ place: Int) {
    slots[place].since = nil
    slots[place].next = .unknown
    move(slots[place], from: place, to: nil)
  }

  /// Records which run comes after a cached one at the newest generation.
  package mutating func setNext(
    _ next: RunHead?, after storeKey: Bytes, _ tree: TreeID, at generation: UInt64
  ) {
    guard next?.isCut != true, let place = order[tree]?[Bytes(storeKey.dropFirst(4))],
      isKnown(place, generation)
    else { return }
    slots[place].next = .known(next?.storeKey, since: generation)
  }

  // MARK: What a commit changes

  /// Updates the cache when a run was written or removed.
  package mutating func change(_ storeKey: Bytes, isGone: Bool) {
    let tree = StoreKey.tree(storeKey)
    guard let order = order[tree] else { return }
    let separator = Bytes(storeKey.dropFirst(4))
    var before = order.lastAtOrBefore(separator)
    if let at = before, order.entry(at: at).key == separator { before = order.before(at) }
    if let before { changeNext(order.entry(at: before).value, storeKey, isGone: isGone) }
    guard let place = order[separator] else { return }
    if isGone { remove(place) } else { forget(place) }
  }

  /// Updates what is known of the run after a cached one, when a run was written or removed there.
  private mutating func changeNext(_ place: Int, _ storeKey: Bytes, isGone: Bool) {
    guard case .known(let next, _) = slots[place].next else { return }
    let isOther = next.map { isGone ? $0 == storeKey : bytesPrecede(storeKey, $0) } ?? !isGone
    if isOther { slots[place].next = .unknown }
  }

  /// Updates the cache when a delta was written or removed.
  package mutating func changeDeltas(_ key: Bytes) {
    let number = StoreKey.numberAfterTree(key)
    guard let place = places[Key(tree: StoreKey.tree(key), number: number)] else { return }
    forget(place)
  }

  /// Forgets everything, since anything may have changed.
  package mutating func forgetAll() {
    order = [:]
    for place in slots.indices {
      slots[place].since = nil
      slots[place].next = .unknown
    }
  }
}
