import CPeers
import ConiferTree
import Testing

@testable import ConiferBenchmark

@Suite struct DataTests {
  @Test func `Rooms depend on their seed and number alone`() {
    let rooms = Rooms(count: 3, seed: 1)
    #expect(rooms.node(1) == Rooms(count: 9, seed: 1).node(1))
    #expect(rooms.node(1) != Rooms(count: 9, seed: 2).node(1))
    #expect(rooms.node(1).leafCount == Rooms.leaves)
  }

  @Test func `A room's JSON shrinks under plain zstd as a real chat's does`() {
    let rooms = Rooms(count: 20, seed: 2026)
    var (plain, packed, whole) = (0, 0, [UInt8]())
    for room in 0..<20 {
      let json = rooms.node(room).json()
      plain += json.count
      packed += peer_zstd_size(json, json.count, 3)
      whole += json
    }
    let ratio = Double(plain) / Double(packed)
    #expect((2.4...2.8).contains(ratio), "a room: \(ratio)")
    // Rooms repeat what is in others little more than what is in them: no toy vocabulary.
    let together = Double(plain) / Double(peer_zstd_size(whole, whole.count, 3))
    #expect((2.5...3.3).contains(together), "twenty rooms as one: \(together)")
  }

  @Test func `Times of a wide node are all different and not in the order of keys`() {
    let node = Rooms(count: 1, seed: 3).wide(500)
    let times = node.children.compactMap { child -> Int64? in
      if case .integer(let time) = child.node[Key("ts")].leaf { time } else { nil }
    }
    #expect(Set(times).count == 500)
    #expect(times != times.sorted())
  }

  @Test func `Batches are read as they were written`() {
    var batch = RowBatch()
    batch.put([1, 2], [3])
    batch.clear([4], [5, 6])
    batch.delete([7])
    var seen: [[UInt8]] = []
    batch.bytes.withUnsafeBytes { bytes in
      RowBatch.forEach(bytes) { kind, key, value in
        seen.append([UInt8(kind.rawValue)] + key + [0] + value)
      }
    }
    #expect(seen == [[1, 1, 2, 0, 3], [3, 4, 0, 5, 6], [2, 7, 0]])
  }
}
