import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport
import Testing

@testable import ConiferLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("A log store after a power cut")
struct CrashTests {
  /// Runs a history until the disk dies.
  ///
  /// - Returns: how many commits were acknowledged, and how many of them durably.
  static func run(_ history: History, _ disk: MemoryDisk) -> (done: Int, durable: Int) {
    var (done, durable) = (0, 0)
    guard let store = try? disk.store() else { return (0, 0) }
    for (number, commit) in history.batches.enumerated() {
      guard (try? store.apply(commit.batch, commit.durability)) != nil else { break }
      done = number + 1
      if commit.durability == .power { durable = done }
      if number % 9 == 8 {
        _ = try? store.tidy(.zero)
        guard number % 18 == 17 else { continue }
        // A suspended store that said what went wrong has nothing more to say when it is closed.
        guard (try? store.suspend()) != nil else { return (done, durable) }
        durable = done
        guard (try? store.resume()) != nil else { break }
      }
    }
    if (try? store.close()) != nil { durable = done }
    return (done, durable)
  }

  @Test(
    "Whatever operation is the last one, a prefix of the commits with all durable ones is there",
    arguments: [1, 2])
  func everyOperation(seed: UInt64) throws {
    let history = History(seed: seed, commits: 60)
    let whole = MemoryDisk()
    #expect(Self.run(history, whole).done == 60)
    let operations = whole.state.withLock { $0.count }
    let kinds = whole.state.withLock { $0.counted }
    // Everything happened: folds, segments that rolled, compaction that removed some.
    #expect(kinds.count { $0 == .rename } > 8)
    #expect(kinds.count { $0 == .remove } > 8)
    var seen: Set<Int> = []
    for last in 0..<operations {
      let disk = MemoryDisk()
      disk.state.withLock { $0.faults[last] = .dies }
      let (done, durable) = Self.run(history, disk)
      for image in MemoryDisk.Image.allCases {
        let after = disk.crashed(image, seed: seed &* 1000 &+ UInt64(last))
        let place = "seed \(seed), operation \(last) (\(kinds[last])), image \(image)"
        do {
          let store = try after.store()
          let found = try History.read(store)
          // A commit under way may be there or not.
          let states = history.states[durable...min(done + 1, 60)]
          let prefix = states.lastIndex(of: found)
          #expect(prefix != nil, "\(place): no prefix from \(durable) to \(done + 1)")
          #expect(store.findings.isEmpty, "\(place): \(store.findings)")
          if let prefix { seen.insert(prefix) }
          // It goes on from there, and what is written now survives the next cut.
          try store.put(rows, [0xEE], [1], .power)
          let again = try after.crashed(.torn, seed: UInt64(last)).store()
          let expected = try History.read(again)
          var wanted = found
          wanted[rows.id, default: [:]][[0xEE]] = [1]
          #expect(expected == wanted, "\(place): a commit after the recovery")
          try store.close()
        } catch { Issue.record("\(place): \(error)") }
      }
    }
    #expect(seen.count > 30)
  }

  @Test("A cut during recovery costs nothing that was recovered", arguments: [5, 6])
  func duringRecovery(seed: UInt64) throws {
    let history = History(seed: seed, commits: 40)
    let disk = MemoryDisk()
    let count = 200
    disk.state.withLock { $0.faults[count] = .dies }
    let (done, durable) = Self.run(history, disk)
    let states = history.states[durable...min(done + 1, 40)]
    for last in 0..<40 {
      let second = disk.crashed(.torn, seed: seed)
      second.state.withLock { $0.faults[last] = .dies }
      if let store = try? second.store() {
        _ = try? store.tidy(.zero)
        try? store.close()
      }
      for image in MemoryDisk.Image.allCases {
        let store = try second.crashed(image, seed: UInt64(last)).store()
        let found = try History.read(store)
        #expect(states.contains(found), "seed \(seed), operation \(last), image \(image)")
      }
    }
  }
}
