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

  @Test(
    "Recovery may be cut at each of its operations, wherever the first cut was",
    arguments: [5, 6])
  func duringRecovery(seed: UInt64) throws {
    let history = History(seed: seed, commits: 40)
    let whole = MemoryDisk()
    _ = Self.run(history, whole)
    var recoveries = 0
    for count in stride(from: 3, to: whole.state.withLock { $0.count }, by: 41) {
      let disk = MemoryDisk()
      disk.state.withLock { $0.faults[count] = .dies }
      let (done, durable) = Self.run(history, disk)
      let states = history.states[durable...min(done + 1, 40)]
      for last in 0..<200 {
        let second = disk.crashed(.torn, seed: seed &+ UInt64(count))
        second.state.withLock { $0.faults[last] = .dies }
        if let store = try? second.store() {
          _ = try? store.tidy(.zero)
          try? store.close()
        }
        recoveries += 1
        for image in MemoryDisk.Image.allCases {
          let store = try second.crashed(image, seed: UInt64(last)).store()
          let found = try History.read(store)
          #expect(
            states.contains(found),
            "seed \(seed), operation \(count), then \(last) of the recovery, image \(image)")
        }
        // It came to its end untouched.
        if second.state.withLock({ !$0.isDead }) { break }
      }
    }
    #expect(recoveries > 40)
  }

  @Test(
    "What a killed process had not synced is durable with the next durable commit",
    arguments: [7])
  func killed(seed: UInt64) throws {
    let history = History(seed: seed, commits: 40)
    let whole = MemoryDisk()
    _ = Self.run(history, whole)
    for last in 0..<whole.state.withLock({ $0.count }) {
      let disk = MemoryDisk()
      disk.state.withLock { $0.faults[last] = .dies }
      let done = Self.run(history, disk).done
      // The next process sees all of it, and nothing is more durable than before.
      disk.state.withLock {
        $0.isDead = false
        $0.faults = [:]
      }
      let place = "seed \(seed), killed at operation \(last)"
      let store = try disk.store()
      var found = try History.read(store)
      #expect(history.states[done...min(done + 1, 40)].contains(found), "\(place)")
      try store.put(rows, [0xEE], [1], .power)
      found[rows.id, default: [:]][[0xEE]] = [1]
      for image in MemoryDisk.Image.allCases {
        let after = try disk.crashed(image, seed: UInt64(last)).store()
        #expect(try History.read(after) == found, "\(place), then power loss, image \(image)")
      }
    }
  }
}
