#if RocksDB
  import ConiferKeyValue
  import TestSupport
  import Testing

  @testable import ConiferRocksDB

  @Suite("RocksDB's manifest after a crash")
  struct ManifestTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    func path(_ name: String) -> String { scratch.store + "/" + name }

    /// The name of the one file with a beginning.
    func name(_ part: String) throws -> String {
      try #require(Scratch.names(scratch.store).last { $0.hasPrefix(part) })
    }

    /// Why the store cannot be opened.
    func refusal() -> StoreError.Code? {
      code { () throws(StoreError) in try RocksDBStore(at: scratch.store).close() }
    }

    /// A hundred rows, the same in each round, with other values.
    func batch(_ round: Int) -> Batch {
      var batch = Batch()
      for n in 0..<100 { batch.put(rows, key(n), Bytes(repeating: UInt8(n + round), count: 60)) }
      return batch
    }

    /// Opens the store, commits a round, and closes, which makes a sorted file.
    func commit(_ round: Int) throws {
      let store = try RocksDBStore(at: scratch.store)
      _ = try store.apply(batch(round), .power)
      try store.close()
    }

    @Test("The end of the manifest that a crash tore is cut, and what had been synced is damage")
    func tornManifest() throws {
      // As a crash leaves it: no list of files, a log with data, and an edit of which only a part came.
      let store = try RocksDBStore(at: scratch.store)
      _ = try store.apply(batch(1), .power)
      let crashed = scratch.image()
      try store.close()
      scratch.put(back: crashed)
      Files.remove(path(Inventory.name))
      let manifest = try name("MANIFEST-")
      let whole = Scratch.read(path(manifest))
      let torn = whole + [1, 2, 3, 4, 90, 0, 1, 2, 18, 9, 0] + Bytes(repeating: 0, count: 86)
      Scratch.write(torn, path(manifest))
      let again = try RocksDBStore(at: scratch.store)
      #expect(try contents(again.view(), rows).count == 100)
      try again.close()

      // What the logs no longer hold was synced in the files: an edit that lists them is no torn one.
      Files.remove(path(Inventory.name))
      let last = try name("MANIFEST-")
      var bytes = Scratch.read(path(last))
      for i in bytes.indices.suffix(30) { bytes[i] = 0 }
      Scratch.write(bytes, path(last))
      let before = scratch.image()
      #expect(refusal() == .damaged)
      let isUnchanged = scratch.image() == before
      #expect(isUnchanged)
    }

    /// What a crash leaves while RocksDB adds records to the manifest: the files before, and those
    /// that it had made for the records.
    func crash(_ before: [String: Bytes], _ after: [String: Bytes]) throws -> (
      files: [String: Bytes], manifest: String, records: [Range<Int>]
    ) {
      let manifest = try #require(before.keys.first { $0.hasPrefix("MANIFEST-") })
      let (old, new) = (try #require(before[manifest]), try #require(after[manifest]))
      #expect(new.starts(with: old))
      var records: [Range<Int>] = []
      var end = old.count
      while let record = WriteAheadLog.record(new, at: end) {
        records.append(end..<record.end)
        end = record.end
      }
      #expect(end == new.count)
      var files = before
      for (name, bytes) in after where files[name] == nil && name != Inventory.name {
        files[name] = bytes
      }
      files[manifest] = new
      return (files, manifest, records)
    }

    /// Replaces bytes of a file by zeros.
    func blank(_ range: Range<Int>, _ name: String, in files: [String: Bytes]) -> [String: Bytes] {
      var files = files
      files[name]?.replaceSubrange(range, with: repeatElement(0, count: range.count))
      return files
    }

    @Test("A flush whose record a crash tore is undone, although the record after it came whole")
    func tornFlush() throws {
      let store = try RocksDBStore(at: scratch.store)
      _ = try store.apply(batch(1), .power)
      let before = scratch.image()
      try store.close()
      let after = scratch.image()
      let (files, manifest, records) = try crash(before, after)
      // RocksDB adds two records and syncs them together.
      #expect(records.count == 2)
      let torn = try #require(records.first)
      for range in [torn, torn.prefix(20), torn.suffix(20)] {
        let lost = blank(range, manifest, in: files)
        scratch.put(back: lost)
        let again = try RocksDBStore(at: scratch.store)
        #expect(try contents(again.view(), rows).count == 100)
        try again.close()

        // Without the log, which RocksDB removes then, the records had been synced.
        scratch.put(back: lost.filter { !$0.key.hasSuffix(".log") || $0.value.isEmpty })
        let damaged = scratch.image()
        #expect(refusal() == .damaged)
        let isUnchanged = scratch.image() == damaged
        #expect(isUnchanged)
      }
    }

    @Test("A compaction whose record a crash tore is undone, also when no log holds a commit")
    func tornCompaction() throws {
      for round in 0..<3 { try commit(round) }
      let store = try RocksDBStore(at: scratch.store)
      let before = scratch.image()
      while try store.tidy(.seconds(10)) {}
      let after = scratch.image()
      try store.close()
      let (files, manifest, records) = try crash(before, after)
      let torn = try #require(records.first)
      for range in [torn, torn.prefix(20), torn.suffix(20)] {
        let lost = blank(range, manifest, in: files)
        scratch.put(back: lost)
        let again = try RocksDBStore(at: scratch.store)
        #expect(try contents(again.view(), rows).count == 100)
        try again.close()

        // Without the files that were compacted the records had been synced.
        scratch.put(back: lost.filter { after[$0.key] != nil })
        let damaged = scratch.image()
        #expect(refusal() == .damaged)
        let isUnchanged = scratch.image() == damaged
        #expect(isUnchanged)
      }
    }

    @Test("The end of a manifest is cut also where the compacted files have no sequence numbers")
    func tornAfterCompaction() throws {
      for round in 0..<3 { try commit(round) }
      let store = try RocksDBStore(at: scratch.store)
      while try store.tidy(.seconds(10)) {}
      try store.close()
      let reopened = try RocksDBStore(at: scratch.store)
      let count = try contents(reopened.view(), rows).count
      try reopened.put(rows, key(5000), [1], .power)
      var crashed = scratch.image()
      try reopened.close()
      let manifest = try #require(crashed.keys.first { $0.hasPrefix("MANIFEST-") })
      crashed[manifest]?.append(
        contentsOf: [1, 2, 3, 4, 90, 0, 1, 2, 18, 9, 0] + Bytes(repeating: 0, count: 86))
      scratch.put(back: crashed)
      let again = try RocksDBStore(at: scratch.store)
      #expect(try contents(again.view(), rows).count == count + 1)
      try again.close()
    }
  }

  extension Scratch {
    /// The bytes of every file of the store, for comparing and putting back.
    func image() -> [String: Bytes] {
      var image: [String: Bytes] = [:]
      for name in Scratch.names(store)
      where !name.hasPrefix("LOG") && !["owner", Reserve.name].contains(name) {
        image[name] = Scratch.read(store + "/" + name)
      }
      return image
    }

    func put(back image: [String: Bytes]) {
      for name in Scratch.names(store) where image[name] == nil && name != Reserve.name {
        Files.remove(store + "/" + name)
      }
      for (name, bytes) in image { Scratch.write(bytes, store + "/" + name) }
    }
  }
#endif
