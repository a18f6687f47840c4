import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferLog

@Suite("Stretches of removed keys are passed once")
struct GapTests {
  private static func key(_ number: Int) -> Bytes {
    [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  private static func first(_ store: LogStore, _ space: Space) throws -> Bytes? {
    var found: Bytes?
    let view = try store.view()
    try view.walk(space, .atOrAfter([])) { key, _ in
      found = Bytes(key)
      return .stop
    }
    return found
  }

  /// The stretch in which a key lies, as the next view will know it.
  private static func gap(_ store: LogStore, _ stored: Bytes) throws -> (low: Bytes, high: Bytes)? {
    try store.gaps().around(stored)
  }

  @Test("The front of a drained queue is found behind what was removed", arguments: [true, false])
  func drain(folds: Bool) throws {
    let scratch = try Scratch()
    var options = LogOptions()
    if folds { options.tail = 4096 }
    let store = try LogStore(at: scratch.store, options)
    for number in 0..<600 {
      var batch = Batch()
      batch.put(queue, Self.key(number), [1, 2, 3])
      _ = try store.apply(batch, .relaxed)
    }
    while try store.tidy(.seconds(1)) {}
    for number in 0..<599 {
      #expect(try Self.first(store, queue) == Self.key(number))
      var batch = Batch()
      batch.delete(queue, Self.key(number))
      _ = try store.apply(batch, .relaxed)
    }
    #expect(try Self.first(store, queue) == Self.key(599))
    // All that went is one stretch by now, up to what is there.
    let gap = try #require(try Self.gap(store, [queue.id] + Self.key(598)))
    #expect(gap.high == [queue.id] + Self.key(599))
    // Merged tables know nothing of the first ones any more.
    if !folds { #expect(gap.low == [queue.id] + Self.key(0)) }
    // What comes back within it is seen, and what comes before it.
    var batch = Batch()
    batch.put(queue, Self.key(300), [])
    _ = try store.apply(batch, .relaxed)
    #expect(try Self.first(store, queue) == Self.key(300))
    batch = Batch()
    batch.put(queue, Self.key(2), [])
    _ = try store.apply(batch, .relaxed)
    #expect(try Self.first(store, queue) == Self.key(2))
    try store.close()
  }

  @Test("Walks see what a model sees, whatever was removed and came back", arguments: 0..<12)
  func model(seed: Int) throws {
    var random = Seeded(UInt64(seed))
    let scratch = try Scratch()
    var options = LogOptions()
    options.tail = 2048
    let store = try LogStore(at: scratch.store, options)
    var model: Set<Int> = []
    var old: (view: any OrderedView, keys: [Int])?
    for round in 0..<250 {
      var batch = Batch()
      let low = Int.random(in: 0..<400, using: &random)
      for number in low..<(low + Int.random(in: 1...60, using: &random)) {
        if Int.random(in: 0..<5, using: &random) == 0 {
          batch.put(rows, Self.key(number), [UInt8(truncatingIfNeeded: round)])
          model.insert(number)
        } else {
          batch.delete(rows, Self.key(number))
          model.remove(number)
        }
      }
      _ = try store.apply(batch, .relaxed)
      let view = try store.view()
      let start = Int.random(in: 0..<450, using: &random)
      let up = try Self.keys(view, .atOrAfter(Self.key(start)))
      #expect(up == model.filter { $0 >= start }.sorted(), "seed \(seed), round \(round)")
      let down = try Self.keys(view, .atOrBefore(Self.key(start)))
      #expect(down == model.filter { $0 <= start }.sorted(by: >), "seed \(seed), round \(round)")
      if let old { #expect(try Self.keys(old.view, .atOrAfter([])) == old.keys, "seed \(seed)") }
      if round % 20 == 0 { old = (view, model.sorted()) }
    }
    try store.close()
  }

  @Test("What a commit stores while a walk passes a stretch is seen by the next walk")
  func meanwhile() throws {
    let scratch = try Scratch()
    let store = try LogStore(at: scratch.store)
    var batch = Batch()
    for number in 0..<100 { batch.put(rows, Self.key(number), [1]) }
    _ = try store.apply(batch, .relaxed)
    while try store.tidy(.seconds(1)) {}
    batch = Batch()
    for number in 0..<99 { batch.delete(rows, Self.key(number)) }
    _ = try store.apply(batch, .relaxed)
    let view = try store.view()
    try view.walk(rows, .atOrAfter([])) { _, _ in
      _ = try? store.put(rows, Self.key(40), [2])
      return .stop
    }
    #expect(try Self.keys(view, .atOrAfter([])) == [99])
    #expect(try Self.keys(store.view(), .atOrAfter([])) == [40, 99])
    try store.close()
  }

  private static func keys(_ view: any OrderedView, _ origin: Origin) throws -> [Int] {
    var keys: [Int] = []
    try view.walk(rows, origin) { key, _ in
      let key = Bytes(key)
      keys.append(Int(key[0]) << 8 | Int(key[1]))
      return .next
    }
    return keys
  }
}
