import ConiferKeyValue
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLog

@Suite("Recovery of a log's journal")
struct RecoveryTests {
  static let segment = "store/0000000000000001.segment"

  /// A store of five durable commits that was killed: `rows` 1 to 5, each with a longer value.
  static func killed() throws -> MemoryDisk {
    let disk = MemoryDisk()
    let store = try disk.store()
    for n in UInt8(1)...5 {
      var batch = Batch()
      batch.put(rows, [n], [n])
      batch.put(blobs, [n], Bytes(repeating: n, count: 100))
      _ = try store.apply(batch, .power)
    }
    let left = disk.copied()
    try store.close()
    return left
  }

  static func frames(_ disk: MemoryDisk) throws -> [JournalReader.Frame] {
    let manifest = try Manifest(try #require(disk["store/manifest"]), "manifest")
    let bytes = try #require(disk[segment])
    return JournalReader(
      Bytes(bytes[manifest.position...]), base: manifest.position, store: manifest.store,
      segment: manifest.active, sequence: manifest.sequence, previous: manifest.previous
    ).frames
  }

  @Test("The torn end of the journal is cut, and nothing is told of it")
  func torn() throws {
    let disk = try Self.killed()
    let frames = try Self.frames(disk)
    #expect(frames.count == 5)
    let last = try #require(frames.last)
    for at in [0, 10, 47, FrameHeader.size + 1, last.header.total - 9] {
      let torn = disk.copied()
      torn[Self.segment]?[last.offset + at] ^= 1
      let store = try torn.store()
      #expect(store.findings.isEmpty)
      #expect(try contents(store.view(), rows).map { $0[0] } == [[1], [2], [3], [4]])
      // The next frame goes to the cut, and what was behind it never comes back.
      try store.put(rows, [9], [9], .power)
      let again = try torn.crashed(.synced, seed: 0).store()
      #expect(try contents(again.view(), rows).map { $0[0] } == [[1], [2], [3], [4], [9]])
      try store.close()
    }
  }

  @Test(
    "What a killed process wrote and did not sync is synced by the next one, before it is relied on",
    arguments: [true, false])
  func foundUnsynced(folds: Bool) throws {
    let disk = MemoryDisk()
    let killed = try disk.store()
    try killed.put(rows, [0], [0], .power)
    for n in UInt8(1)...3 { try killed.put(blobs, [n], Bytes(repeating: n, count: 100)) }
    // The other process died: the system still has what it wrote.
    let store = try disk.store()
    if folds { _ = try store.tidy(.zero) } else { _ = try store.apply(Batch(), .power) }
    let after = try disk.crashed(.synced, seed: 0).store()
    #expect(try contents(after.view(), blobs).map { $0[0] } == [[1], [2], [3]])
    for n in UInt8(1)...3 {
      #expect(try after.view().value(blobs, [n]) == Bytes(repeating: n, count: 100))
    }
  }

  @Test("A lost commit that is made again does not bring back the one that came after it")
  func noResurrection() throws {
    let disk = MemoryDisk()
    let store = try disk.store()
    // None is synced, so the second commit after the cut has the very bytes of the one before it.
    for n in UInt8(1)...3 { try store.put(rows, [n], [n]) }
    // A power cut keeps the third frame and loses the second.
    let left = disk.copied()
    let lost = try Self.frames(left)[1]
    left[Self.segment]?.replaceSubrange(
      lost.offset..<(lost.offset + lost.header.total),
      with: Bytes(repeating: 0, count: lost.header.total))
    let again = try left.store()
    #expect(try contents(again.view(), rows).map { $0[0] } == [[1]])
    try again.put(rows, [2], [2])
    let last = try left.copied().store()
    #expect(try contents(last.view(), rows).map { $0[0] } == [[1], [2]])
  }

  @Test(
    "Damage amid the journal is told, the rest is there, and the bytes are kept aside",
    arguments: [0, 20, 46, FrameHeader.size + 2])
  func middle(at: Int) throws {
    let disk = try Self.killed()
    let frame = try Self.frames(disk)[2]
    disk[Self.segment]?[frame.offset + at] ^= 4
    let damaged = try #require(disk[Self.segment])
    for _ in 0..<2 {
      // Told again as long as nobody has acknowledged it.
      let store = try disk.store()
      let finding = try #require(store.findings.first)
      #expect(store.findings.count == 1)
      #expect(finding.file == Self.segment)
      #expect(finding.offset == frame.offset && finding.bytes == frame.header.total)
      #expect(try contents(store.view(), rows).map { $0[0] } == [[1], [2], [4], [5]])
      try store.close()
    }
    let store = try disk.store()
    try store.acknowledgeFindings()
    #expect(store.findings.isEmpty)
    try store.put(rows, [6], [6], .power)
    try store.close()
    let kept = "store/0000000000000001-\(frame.offset).damaged"
    #expect(
      disk[kept] == Bytes(damaged[frame.offset..<(frame.offset + frame.header.total)]))
    let again = try disk.store()
    #expect(again.findings.isEmpty)
    #expect(try contents(again.view(), rows).map { $0[0] } == [[1], [2], [4], [5], [6]])
    try again.close()
  }

  @Test("Findings are told until somebody acknowledges them, whatever is committed before")
  func untold() throws {
    let disk = try Self.killed()
    let frame = try Self.frames(disk)[2]
    disk[Self.segment]?[frame.offset] ^= 4
    let store = try disk.store()
    let findings = store.findings
    #expect(findings.count == 1)
    for n in 0..<60 { try store.put(blobs, key(n), Bytes(repeating: 7, count: 900), .power) }
    _ = try store.tidy(.zero)
    #expect(store.findings == findings)
    let killed = try disk.copied().store()
    #expect(killed.findings == findings)
    #expect(try contents(killed.view(), blobs).count == 60 + 4)
    try store.acknowledgeFindings()
    #expect(store.findings.isEmpty)
    while try store.tidy(.milliseconds(50)) {}
    let again = try disk.copied().store()
    #expect(again.findings.isEmpty)
    #expect(try contents(again.view(), blobs).count == 60 + 4)
  }

  @Test("A damaged value is found where it is read, with its bytes, and all others can be read")
  func value() throws {
    let disk = try Self.killed()
    let frame = try Self.frames(disk)[1]
    let at = frame.offset + FrameHeader.size + Int(frame.header.editsLength) + 7
    disk[Self.segment]?[at] ^= 0x40
    let store = try disk.store()
    #expect(store.findings.isEmpty)
    func check(_ store: LogStore) throws {
      let view = try store.view()
      do throws(StoreError) {
        _ = try view.value(blobs, [2])
        Issue.record("a damaged value was lent")
      } catch {
        #expect(error.code == .damaged)
        #expect(error.place == StoreError.Place(space: blobs.id, key: [2]))
        var found = Bytes(repeating: 2, count: 100)
        found[7] ^= 0x40
        #expect(error.found == found)
      }
      #expect(try view.value(rows, [2]) == [2])
      #expect(try view.value(blobs, [3]) == Bytes(repeating: 3, count: 100))
    }
    try check(store)
    // Compaction copies it as it is: it neither fails nor makes it look sound.
    for n in 0..<60 { try store.put(blobs, [9], Bytes(repeating: UInt8(n), count: 2000)) }
    while try store.tidy(.milliseconds(100)) {}
    #expect(disk[Self.segment] == nil)
    try check(store)
    try store.close()
  }

  @Test("A cache settles what its store had to leave out, an authority is refused")
  func backend() async throws {
    let disk = MemoryDisk()
    let backend = try LogBackend(
      try disk.store(), name: "log", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    let lane = Lane(tree: tree)
    try await backend.commit([.saveQuery(TrackedQuery(tree: tree, path: "/", isComplete: true))])
    for n in 0..<4 {
      try await backend.commit([
        .overwrite(tree, Path("/a\(n)"), Node(.string("value \(n)"))),
        .enqueue(lane, .set(Path("/b\(n)"), Node(.integer(Int64(n))))),
      ])
    }
    let left = disk.copied()
    try await backend.close()
    // The frame of the third of the four.
    let frames = try Self.frames(left)
    let frame = frames[frames.count - 2]
    left[Self.segment]?[frame.offset + FrameHeader.size + 3] ^= 1
    let before = left[Self.segment]
    do throws(StoreError) {
      let store = try left.store()
      defer { try? store.close() }
      _ = try LogBackend(store, name: "log", options: StorageOptions(role: .authority))
      Issue.record("an authority was opened without a part of its data")
    } catch {
      #expect(error.code == .damaged)
      #expect(error.message.contains(Self.segment))
    }
    #expect(try #require(before).starts(with: try #require(left[Self.segment])))
    for round in 0..<2 {
      let again = try LogBackend(try left.store(), name: "log", options: StorageOptions())
      let (node, writes, incidents, query, totals) = try again.read { (view) throws(StoreError) in
        (
          try view.node(tree, "/"), try view.writes(lane, after: nil, limit: 10),
          try view.incidents(), try view.trackedQuery(tree, "/", "default"),
          try view.totals(lane)
        )
      }
      #expect(writes.count == 3 + round && totals.pending == writes.count, "round \(round)")
      #expect(node[Path("a0")] == Node(.string("value 0")))
      #expect(node[Path("a3")] == Node(.string("value 3")))
      #expect(query?.query.isComplete == false)
      #expect(incidents.count == 1, "round \(round)")
      try await again.commit([.enqueue(lane, .set("/c", Node(.integer(Int64(round)))))])
      try await again.close()
    }
  }

  @Test(
    "Runs that overlap without a lost commit are dropped, and the tree can be read and written",
    arguments: [1, 200])
  func overlap(leaves: Int) async throws {
    let disk = MemoryDisk()
    let backend = try LogBackend(
      try disk.store(LogOptions()), name: "log", options: StorageOptions(compression: .none))
    let tree = try await backend.tree(named: "main")
    for x in 1...3 {
      for n in 0..<300 {
        let text = String(repeating: "\(x)", count: 200)
        try await backend.commit([
          .overwrite(tree, Path("/x\(x)/l\(1000 + n)"), Node(.string(text)))
        ])
      }
    }
    try await backend.commit([.overwrite(tree, "/x2", .empty)])
    // Few leaves become a delta of the run before, many a run that reaches behind the removed ones.
    try await backend.commit(
      (0..<leaves).map { .overwrite(tree, Path("/x2/l\(1050 + $0)"), Node(.string("new"))) })
    let left = disk.copied()
    try await backend.close()
    let frames = try Self.frames(left)
    let frame = frames[frames.count - 2]
    left[Self.segment]?[frame.offset + FrameHeader.size + 3] ^= 1
    let again = try LogBackend(
      try left.store(LogOptions()), name: "log", options: StorageOptions(compression: .none))
    let node = try again.read { (view) throws(StoreError) in try view.node(tree, "/") }
    #expect(node[Path("x3/l1299")] == Node(.string(String(repeating: "3", count: 200))))
    try await again.commit([.overwrite(tree, "/x2", .empty)])
    try await again.commit([.overwrite(tree, "/x2/z", Node(.string("newer")))])
    let later = try again.read { (view) throws(StoreError) in try view.node(tree, "/x2") }
    #expect(later[Path("z")] == Node(.string("newer")))
    #expect(later[Path("l1100")].isEmpty)
    try await again.close()
  }
}
