import ConiferKeyValue
import ConiferLeafStore
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLog
@testable import ConiferStorage

@Suite("A log whose index is damaged")
struct LostIndexTests {
  private static let options: LogOptions = {
    var options = LogOptions()
    options.segment = 64 << 10
    options.tail = 24 << 10
    options.reserve = 0
    return options
  }()

  /// A store with a few tables, a lane of writes and tracked queries.
  private struct Sample {
    static let rooms = 180
    let disk = MemoryDisk()
    var writes: [WriteID: WriteContent] = [:]

    init() async throws {
      let backend = try Self.open(disk)
      let tree = try await backend.tree(named: "main")
      for room in 0..<Self.rooms {
        let write = WriteContent(
          kind: .set, path: Path("rooms/r\(room)/title"),
          changes: [.init(Path("rooms/r\(room)/title"), Node(.string("t\(room)")))], time: 1)
        let receipt = try await backend.commit(
          [
            .overwrite(tree, Path("rooms/r\(room)"), Self.room(room)),
            .saveQuery(
              TrackedQuery(tree: tree, path: Path("rooms/r\(room)"), isComplete: true, lastUse: 1)),
            .setMetadata(tree, "m\(room)", Bytes(repeating: UInt8(room), count: 50)),
            .enqueue(Lane(tree: tree, identity: "ann"), write),
          ], .process)
        writes[receipt.writes[0]] = write
      }
      try await backend.close()
    }

    static func open(_ disk: MemoryDisk, _ role: StoreRole = .cache) throws(StoreError)
      -> PackedBackend<LogStore>
    {
      try PackedBackend(
        try disk.store(LostIndexTests.options), name: "log",
        options: StorageOptions(budget: nil, durability: .power, role: role))
    }

    static func room(_ number: Int) -> Node {
      var random = Seeded(UInt64(number + 1))
      return Node(
        children: (0..<12).map { leaf in
          (Key("m\(leaf)"), Node(.string(String(random.next(), radix: 36))))
        })
    }

    /// Where blocks of tables lie, with the first space that each may tell of.
    func blocks() throws -> [(path: String, offset: Int, space: UInt8)] {
      let bytes = try #require(disk["store/manifest"])
      let manifest = try Manifest(bytes, "manifest")
      return try manifest.tables.flatMap { entry in
        let path = "store/\(FileName(number: entry.number, kind: .table))"
        let file = try #require(disk[path])
        let index = try #require(
          Table.Index(Bytes(file[entry.indexOffset..<entry.indexOffset + entry.indexLength])))
        return index.blocks.map { (path, $0.offset, $0.first[0]) }
      }
    }

    /// What is there was written, and all counts are those of what is there.
    func check(_ backend: PackedBackend<LogStore>, _ place: String) throws {
      let (rooms, queries, found) = try backend.read { (view) throws(StoreError) in
        let tree = try view.trees()[0].id
        return (
          try view.node(tree, "rooms"), try view.trackedQueries(tree, after: nil, limit: .max),
          try view.writes(Lane(tree: tree, identity: "ann"), after: nil, limit: .max)
        )
      }
      for room in 0..<Self.rooms {
        let whole = Self.room(room)
        let part = rooms[Key("r\(room)")]
        for child in part.children {
          #expect(child.node == whole[child.key], "\(place): r\(room)/\(child.key) is wrong")
        }
        guard let query = queries.first(where: { $0.query.path == Path("rooms/r\(room)") }) else {
          continue
        }
        #expect(part == whole || !query.query.isComplete, "\(place): r\(room) counts as complete")
      }
      for write in found {
        #expect(writes[write.id] == write.content, "\(place): write \(write.id.rawValue)")
        let touching = try backend.read { (view) throws(StoreError) in
          try view.pendingWrites(
            Lane(tree: try view.trees()[0].id, identity: "ann"), touching: write.content.path)
        }
        #expect(touching == [write.id], "\(place): write \(write.id.rawValue) by its path")
      }
      // What nobody has read yet may be damaged, too; then it is counted anew.
      try backend.reading { (view) throws(StoreError) in
        for space in Spaces.all { _ = try view.keys(space, prefix: []) }
      }
      try backend.finishMending()
      let view = try backend.store.view()
      defer { view.close() }
      for info in try Trees.all(view) {
        let counted = try UsageRow.read(view, info.id)
        var exact = try Recount.whole(view, info.id)
        exact.bytes = exact.bytes.filter { $0.value != 0 }
        #expect(counted == exact, "\(place): usage")
      }
    }
  }

  @Test("A damaged block of a cache's index is reported and left out, and all that is left agrees")
  func mended() async throws {
    let sample = try await Sample()
    let blocks = try sample.blocks()
    try #require(blocks.count > 6)
    var mended = 0
    for block in blocks {
      let place = "\(block.path), byte \(block.offset), space \(block.space)"
      let disk = sample.disk.copied()
      disk[block.path]?[block.offset + 9] ^= 0x10
      let damaged = disk[block.path]
      if block.space == Spaces.system.id {
        // Without the list of trees nothing can be told apart.
        #expect(throws: StoreError.self, "\(place)") {
          try sample.check(try Sample.open(disk), place)
        }
        #expect(disk[block.path] == damaged, "\(place)")
        continue
      }
      mended += 1
      var backend = try Sample.open(disk)
      try sample.check(backend, place)
      let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
      #expect(incidents.contains { $0.place.contains(block.path) }, "\(place): \(incidents)")
      let kept = try #require(disk.paths.first { $0.hasSuffix("-\(block.offset).damaged") })
      let bytes = try #require(disk[kept])
      let there = Bytes(try #require(damaged)[block.offset..<block.offset + bytes.count])
      #expect(bytes == there, "\(place)")
      let tree = try await backend.tree(named: "main")
      let lane = Lane(tree: tree, identity: "ann")
      let receipt = try await backend.commit([
        .enqueue(
          lane, WriteContent(kind: .set, path: "a", changes: [.init("a", 1)], time: 1)),
        .overwrite(tree, "new", 1),
      ])
      let id = try #require(receipt.writes.first)
      #expect(sample.writes[id] == nil, "\(place): number \(id.rawValue) was given twice")
      let touching = try backend.read { (view) throws(StoreError) in
        try view.pendingWrites(lane, touching: "a")
      }
      #expect(touching == [id], "\(place)")
      for number in 0..<20 {
        try await backend.commit([
          .setMetadata(tree, "n\(number)", Bytes(repeating: 1, count: 2000))
        ])
      }
      while try await backend.tidy(.milliseconds(50)) {}
      try await backend.close()
      backend = try Sample.open(disk)
      #expect(backend.store.findings.isEmpty, "\(place)")
      let told = try backend.read { (view) throws(StoreError) in try view.incidents() }
      #expect(told == incidents, "\(place): told again, or forgotten")
      try await backend.close()
    }
    #expect(mended > 4)
  }

  @Test("What a lost part of the index may have told of goes, older entries too; all else stays")
  func older() throws {
    let disk = MemoryDisk()
    var store = try disk.store(Self.options)
    for n in 0..<2000 { try store.put(rows, key(n), Bytes(repeating: 1, count: 40)) }
    while try store.tidy(.milliseconds(100)) {}
    let old = Set(disk.paths)
    try store.put(rows, key(700), [2])
    try store.put(rows, key(710), [2])
    try store.put(rows, key(712), [2])
    try store.close()
    let new = disk.paths.filter { $0.hasSuffix(".table") && !old.contains($0) }
    try #require(new.count == 1, "the tables were merged")
    disk[new[0]]?[FileHeader.size + 3] ^= 1
    store = try disk.store(Self.options)
    try store.put(rows, key(705), [3])
    #expect(
      code { () throws(StoreError) in
        let view = try store.view()
        _ = try view.value(rows, key(710))
      } == .damaged)
    let finding = try #require(store.findings.first)
    #expect(finding.file == new[0] && store.findings.count == 1)
    #expect(finding.spaces == rows.id...rows.id)
    try store.acknowledgeFindings()
    for _ in 0..<2 {
      #expect(store.findings.isEmpty)
      let found = try contents(store.view(), rows)
      let expected = (0..<2000).filter { !(700...712).contains($0) || $0 == 705 }
      #expect(found.count == expected.count)
      let view = try store.view()
      for n in [0, 699, 713, 1999] {
        #expect(try view.value(rows, key(n)) == Bytes(repeating: 1, count: 40))
      }
      #expect(try view.value(rows, key(705)) == [3])
      #expect(try view.value(rows, key(701)) == nil)
      view.close()
      try store.close()
      store = try disk.store(Self.options)
    }
    try store.close()
  }

  @Test("An authority is not mended, and none of its files change")
  func authority() async throws {
    let sample = try await Sample()
    let block = try #require(try sample.blocks().first { $0.space == Spaces.runs.id })
    let disk = sample.disk.copied()
    disk[block.path]?[block.offset + 9] ^= 0x10
    let backend = try Sample.open(disk, .authority)
    #expect(
      code { () throws(StoreError) in
        _ = try backend.read { (view) throws(StoreError) in
          try view.node(try view.trees()[0].id, .root)
        }
      } == .damaged)
    #expect(!disk.paths.contains { $0.hasSuffix(".damaged") })
    try await backend.close()
  }

  @Test("A power cut at any operation of the mending leaves a store that is mended when it is read")
  func cutOff() async throws {
    let sample = try await Sample()
    let block = try #require(try sample.blocks().first { $0.space == Spaces.queue.id })
    let damaged = sample.disk.copied()
    damaged[block.path]?[block.offset + 9] ^= 0x10
    func count(_ disk: MemoryDisk) -> Int { disk.state.withLock { $0.count } }
    func mend(_ disk: MemoryDisk) async throws -> Int {
      let backend = try Sample.open(disk)
      let opened = count(disk)
      try sample.check(backend, "mending")
      defer { _ = backend }
      return opened
    }
    let whole = damaged.copied()
    let first = try await mend(whole)
    let last = count(whole)
    try #require(last > first + 8)
    for cut in first..<last {
      let disk = damaged.copied()
      disk.state.withLock { $0.faults[cut] = .dies }
      _ = try? await mend(disk)
      for image in cut % 4 == 0 ? MemoryDisk.Image.allCases : [.torn] {
        let place = "cut at operation \(cut) of \(last), \(image)"
        let after = disk.crashed(image, seed: UInt64(cut))
        let backend = try Sample.open(after)
        try sample.check(backend, place)
        let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
        #expect(incidents.contains { $0.place.contains(block.path) }, "\(place)")
        try await backend.close()
      }
    }
  }
}
