import ConiferKeyValue
import TestSupport
import Testing

@_spi(Stores) @testable import ConiferKeyValue

@Suite("Sorted bytes")
struct SortedBytesTests {
  func key(_ random: inout Seeded, _ range: Int) -> Bytes {
    let n = Int.random(in: 0..<range, using: &random)
    if n == 0 { return [] }
    return [UInt8(n >> 8), UInt8(n & 0xff)] + (n % 7 == 0 ? [0] : [])
  }

  /// Compares everything that can be asked with a dictionary and a sort.
  func agree(
    _ map: SortedBytes<Int>, _ model: [Bytes: Int], _ probes: [Bytes], _ note: Comment
  ) {
    let sorted = model.keys.sorted(by: bytesPrecede)
    var keys: [Bytes] = []
    var values: [Int] = []
    map.forEach { key, value in
      keys.append(key)
      values.append(value)
    }
    #expect(keys == sorted, note)
    #expect(values == sorted.map { model[$0] ?? -1 }, note)
    #expect(map.count == model.count, note)
    #expect(map.isEmpty == model.isEmpty, note)
    #expect(map.chunks.allSatisfy { !$0.isEmpty && $0.count <= 256 }, note)
    var down: [Bytes] = []
    var place = map.last
    while let here = place {
      down.append(map.entry(at: here).key)
      place = map.before(here)
    }
    #expect(down == sorted.reversed(), note)
    var up: [Bytes] = []
    place = map.first
    while let here = place {
      up.append(map.entry(at: here).key)
      place = map.after(here)
    }
    #expect(up == sorted, note)
    for probe in probes {
      #expect(map[probe] == model[probe], note)
      let after = sorted.first { !bytesPrecede($0, probe) }
      let before = sorted.last { !bytesPrecede(probe, $0) }
      #expect(map.firstAtOrAfter(probe).map { map.entry(at: $0).key } == after, note)
      #expect(map.lastAtOrBefore(probe).map { map.entry(at: $0).key } == before, note)
    }
  }

  @Test("Random changes leave it equal to a sorted dictionary, and copies frozen")
  func randomChanges() {
    let seed = UInt64.random(in: 0...UInt64.max)
    for (round, range) in [8, 600, 5_000].enumerated() {
      var random = Seeded(seed &+ UInt64(round))
      let note: Comment = "seed \(seed) round \(round)"
      var map = SortedBytes<Int>()
      var model: [Bytes: Int] = [:]
      var frozen: (SortedBytes<Int>, [Bytes: Int])?
      for step in 0..<4_000 {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<70:
          let key = key(&random, range)
          map[key] = step
          model[key] = step
        case 70..<98:
          let key = key(&random, range)
          map[key] = nil
          model[key] = nil
        default:
          let a = key(&random, range)
          let b = step % 5 == 0 ? key(&random, range) : a + [1, 2]
          map.removeAll(from: a, to: b)
          model = model.filter { bytesPrecede($0.key, a) || !bytesPrecede($0.key, b) }
        }
        if step % 500 == 250 { frozen = (map, model) }
        if step % 500 == 499 {
          let probes = (0..<40).map { _ in key(&random, range + 3) }
          agree(map, model, probes, note)
          if let frozen { agree(frozen.0, frozen.1, probes, note) }
        }
      }
    }
  }

  @Test("Ascending keys fill their chunks, descending and inserted ones leave them half full")
  func chunksStayFull() {
    func key(_ n: Int) -> Bytes { [UInt8(n >> 16), UInt8(n >> 8 & 0xff), UInt8(n & 0xff)] }
    var up = SortedBytes<Int>()
    for n in 0..<25_600 { up[key(n)] = n }
    #expect(up.chunks.count == 100)
    var down = SortedBytes<Int>()
    for n in (0..<25_600).reversed() { down[key(n)] = n }
    #expect(down.chunks.count <= 200)
    // Descending arrivals between two full chunks.
    var between = SortedBytes<Int>()
    for n in 0..<256 { between[key(n)] = n }
    for n in 60_000..<60_256 { between[key(n)] = n }
    for n in (1_000..<11_000).reversed() { between[key(n)] = n }
    #expect(between.count == 10_512)
    #expect(between.chunks.count <= 2 + 10_000 / 128 + 1)
    // A queue: appended at the end, removed at the front.
    for n in 0..<25_500 { up[key(n)] = nil }
    #expect(up.count == 100)
    #expect(up.chunks.count == 1)
  }
}
