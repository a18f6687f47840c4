import ConiferKeyValue
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What memory says of runs at a generation, and what it lets go of.
@Suite struct KnownRunTests {
  private static let tree = TreeID(rawValue: 1)

  /// A run of one leaf, or of more, under a separator.
  static func run(_ separator: String, number: UInt64, leaves: Int = 1) -> DecodedRun {
    var entries = EntryList()
    for leaf in 1...UInt8(leaves) {
      entries.append(Entry(key: Bytes(separator.utf8) + [leaf], value: [ValueTag.true]))
    }
    let packed = RunHead.Packed(entries, 0..<leaves, Packing(Codec(level: nil)))
    let head = RunHead(
      storeKey: StoreKey.prefix(tree) + Bytes(separator.utf8), fullSeparator: [], number: number,
      packed)
    return DecodedRun(head, [], entries)
  }

  private static func key(_ separator: String, _ leaf: UInt8 = 1) -> Bytes {
    Bytes(separator.utf8) + [leaf]
  }

  /// A cache that knows some runs at generation 1.
  private static func cache(_ runs: [DecodedRun], budget: Int = 1 << 20) -> RunCache {
    var cache = RunCache(budget: budget)
    for run in runs {
      cache.add(tree, run)
      cache.confirm(tree, run, at: 1)
    }
    return cache
  }

  @Test func `A run that is not known hides none that is written behind it`() throws {
    let (first, stale, new) = (
      Self.run("a", number: 1), Self.run("b", number: 2), Self.run("c", number: 3)
    )
    var cache = Self.cache([first])
    // A reader of an older generation kept it after it was removed.
    cache.add(Self.tree, stale)
    cache.setNext(nil, after: first.head.storeKey, Self.tree, at: 1)
    guard case .end = cache.next(Self.tree, first.head.storeKey, at: 1) else {
      Issue.record("nothing is behind the first run")
      return
    }
    cache.change(new.head.storeKey, isGone: false)
    #expect(cache.next(Self.tree, first.head.storeKey, at: 2) == nil)
    #expect(cache.covering(Self.tree, Self.key("c"), at: 2) == nil)
  }

  @Test func `A run of which anything may have changed hides none either`() {
    let (first, gone, new) = (
      Self.run("a", number: 1), Self.run("b", number: 2), Self.run("c", number: 3)
    )
    var cache = Self.cache([first, gone])
    cache.forgetAll()
    #expect(cache.covering(Self.tree, Self.key("a"), at: 2) == nil)
    cache.confirm(Self.tree, first, at: 2)
    cache.setNext(nil, after: first.head.storeKey, Self.tree, at: 2)
    cache.change(new.head.storeKey, isGone: false)
    #expect(cache.next(Self.tree, first.head.storeKey, at: 3) == nil)
  }

  @Test func `Behind its last leaf a run is known up to the next one alone`() {
    let (first, next) = (Self.run("a", number: 1, leaves: 3), Self.run("c", number: 2))
    var cache = Self.cache([first])
    #expect(cache.covering(Self.tree, Self.key("a", 3), at: 1) === first)
    #expect(cache.covering(Self.tree, Self.key("b"), at: 1) == nil)
    cache.setNext(next.head, after: first.head.storeKey, Self.tree, at: 2)
    // Who reads an older generation may have had another run there.
    #expect(cache.covering(Self.tree, Self.key("b"), at: 1) == nil)
    #expect(cache.covering(Self.tree, Self.key("b"), at: 2) === first)
    #expect(cache.covering(Self.tree, Self.key("c"), at: 2) == nil)
    cache.add(Self.tree, next)
    cache.confirm(Self.tree, next, at: 1)
    #expect(cache.next(Self.tree, first.head.storeKey, at: 1) == nil)
    guard case .run(let found) = cache.next(Self.tree, first.head.storeKey, at: 2) else {
      Issue.record("the next run is not known")
      return
    }
    #expect(found === next)
  }

  @Test func `Another reading of a run says nothing of the one that is kept`() {
    let (kept, other) = (Self.run("a", number: 1), Self.run("a", number: 1, leaves: 2))
    var cache = RunCache(budget: 1 << 20)
    cache.add(Self.tree, kept)
    cache.confirm(Self.tree, other, at: 1)
    #expect(cache.covering(Self.tree, Self.key("a"), at: 1) == nil)
    cache.confirm(Self.tree, kept, at: 1)
    #expect(cache.covering(Self.tree, Self.key("a"), at: 1) === kept)
  }

  @Test func `What is used stays, and the others go`() {
    let runs = (0..<20 as Range<UInt64>).map { Self.run("r\($0)", number: $0, leaves: 200) }
    let budget = runs[0].size * 6
    var cache = RunCache(budget: budget)
    for run in runs.prefix(5) { cache.add(Self.tree, run) }
    for run in runs.dropFirst(5) {
      #expect(cache.find(Self.tree, 0) === runs[0], "before run \(run.head.number)")
      cache.add(Self.tree, run)
    }
    #expect(cache.usage.bytes <= budget)
    #expect(cache.find(Self.tree, 19) === runs[19])
  }

  @Test func `What comes back after more than is kept is not kept`() {
    let runs = (0..<40 as Range<UInt64>).map { Self.run("r\($0)", number: $0, leaves: 200) }
    var cache = RunCache(budget: runs[0].size * 8)
    for run in runs.prefix(6) {
      let answers = (0..<2).map { _ in cache.countReading(Self.tree, run.head) }
      #expect(answers == [false, true])
      cache.add(Self.tree, run)
    }
    for _ in 0..<3 {
      for run in runs.dropFirst(10) {
        let isKept = cache.countReading(Self.tree, run.head)
        #expect(!isKept, "run \(run.head.number)")
      }
    }
  }
}
