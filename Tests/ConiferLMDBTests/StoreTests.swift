import ConiferKeyValue
import ConiferLMDB
import Testing

@Suite("LMDB as an ordered store")
struct StoreTests {
  let directory = TemporaryDirectory()

  private func fill(_ store: LMDBStore, _ from: Int, _ count: Int, _ size: Int) throws(StoreError) {
    var batch = Batch()
    for i in from..<(from + count) {
      batch.put(
        FileTests.space, [UInt8(i >> 8 & 0xFF), UInt8(i & 0xFF)],
        Bytes(repeating: UInt8(i & 0xFF), count: size))
    }
    _ = try store.apply(batch, .relaxed)
  }

  @Test("The map grows as often as data needs, up to its maximum, where the store is full")
  func growth() throws {
    let options = LMDBOptions(
      initialMapSize: 1 << 20, growthFactor: 1.2, maximumMapSize: 8 << 20)
    let store = try LMDBStore(at: directory.path, options)
    var filled = 0
    var code: StoreError.Code?
    while code == nil, filled < 1000 {
      do throws(StoreError) {
        try fill(store, filled, 10, 10_000)
        filled += 10
      } catch {
        code = error.code
      }
    }
    #expect(code == .full)
    #expect(filled > 300)
    // Full is an ordinary error: reading, deleting and then writing go on.
    let view = try store.view()
    #expect(try view.value(FileTests.space, [0, 1])?.count == 10_000)
    view.close()
    var batch = Batch()
    batch.clear(FileTests.space, from: [], to: [0xFF])
    _ = try store.apply(batch, .power)
    // LMDB uses pages again two commits after they were freed.
    for _ in 0..<3 {
      var drain = Batch()
      drain.delete(FileTests.space, [1])
      drain.put(FileTests.space, [2], [UInt8(filled & 0xFF)])
      _ = try store.apply(drain, .power)
    }
    for i in 0..<20 { try fill(store, i * 10, 10, 10_000) }
    try store.close()
  }

  @Test("A commit that must grow the map while a view is held says so and can be repeated")
  func heldView() throws {
    let options = LMDBOptions(
      initialMapSize: 1 << 20, growthFactor: 2, patience: .milliseconds(20))
    let store = try LMDBStore(at: directory.path, options)
    let view = try store.view()
    let error = #expect(throws: StoreError.self) { try fill(store, 0, 200, 10_000) }
    #expect(error?.code == .busy)
    #expect(try view.value(FileTests.space, [0, 0]) == nil)
    view.close()
    try fill(store, 0, 200, 10_000)
    let after = try store.view()
    #expect(try after.value(FileTests.space, [0, 199])?.count == 10_000)
    after.close()
    try store.close()
  }

  @Test("No reader slot left is full, and one that is given back serves again")
  func slots() throws {
    let store = try LMDBStore(at: directory.path, LMDBOptions(readerSlots: 8))
    var views: [any OrderedView] = []
    var code: StoreError.Code?
    while code == nil, views.count < 500 {
      do throws(StoreError) {
        views.append(try store.view())
      } catch {
        code = error.code
      }
    }
    #expect(code == .full)
    views.removeLast().close()
    views.append(try store.view())
    try store.close()
  }

  @Test("Spaces 0 and 255 are the store's own")
  func reserved() throws {
    let store = try LMDBStore(at: directory.path)
    for id in [0, 255] as [UInt8] {
      var batch = Batch()
      batch.put(FileTests.space, [1], [1])
      batch.clear(Space(id: id, shape: .rows), from: [], to: [0xFF])
      let error = #expect(throws: StoreError.self) { try store.apply(batch, .relaxed) }
      #expect(error?.code == .invalid)
    }
    let view = try store.view()
    #expect(try view.value(FileTests.space, [1]) == nil)
    try store.close()
    #expect(FileTests.open(directory.path) == nil)
  }

  @Test("A stored value of the best size takes one page, one byte more takes two")
  func bestSize() throws {
    let store = try LMDBStore(at: directory.path)
    let best = store.traits.bestValueSize
    func pages(_ size: Int) throws -> Int {
      try fill(store, 0, 100, 10)
      let before = try store.size().live
      try fill(store, 0, 100, size)
      return (try store.size().live - before) / 4096
    }
    #expect((100...105).contains(try pages(best)))
    #expect((200...205).contains(try pages(best + 1)))
    try store.close()
  }

  @Test("The store outlives a killed owner with every .process commit, and its lock blocks nobody")
  func killed() async throws {
    let path = directory.path
    for round in 0..<3 {
      await #expect(processExitsWith: .signal(9)) { [path = path as String, round = round as Int] in
        let store = try LMDBStore(at: path)
        let held = try store.view()
        for i in 0..<20 {
          var batch = Batch()
          batch.put(Space(id: 7, shape: .rows), [UInt8(round), UInt8(i)], [UInt8(i)])
          _ = try store.apply(batch, i % 5 == 0 ? .power : .process)
        }
        _ = try held.value(Space(id: 7, shape: .rows), [0])
        Files.die()
      }
      let store = try LMDBStore(at: path)
      let view = try store.view()
      var rows = 0
      try view.walk(Space(id: 7, shape: .rows), .atOrAfter([])) { _, _ in
        rows += 1
        return .next
      }
      #expect(rows == 20 * (round + 1))
      view.close()
      // The dead owner's view keeps no pages back.
      #expect(try store.tidy(.milliseconds(1)) == false)
      try store.close()
    }
  }

  @Test("A second process is told who owns the store")
  func secondProcess() async throws {
    let path = directory.path
    let store = try LMDBStore(at: path)
    await #expect(processExitsWith: .success) { [path = path as String] in
      do throws(StoreError) {
        _ = try LMDBStore(at: path)
        Issue.record("a second process was let in")
      } catch {
        #expect(error.code == .busy)
        #expect(error.message.hasPrefix("Process "))
      }
    }
    try store.close()
  }
}
