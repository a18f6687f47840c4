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
      let manifest = try #require(list(of: before))
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

    /// A record that a crash tore is left out of the list, and nothing is lost. Where what it replaced is gone, it had
    /// been synced, which is damage.
    ///
    /// - Parameters:
    ///   - record: where the record is.
    ///   - manifest: the list.
    ///   - files: what the crash left.
    ///   - isLeft: whether RocksDB keeps a file once the record is synced.
    func expectUndone(
      _ record: Range<Int>?, of manifest: String, in files: [String: Bytes],
      isLeft: (String) -> Bool
    ) throws {
      let torn = try #require(record)
      for range in [torn, torn.prefix(20), torn.suffix(20)] {
        let lost = blank(range, manifest, in: files)
        scratch.put(back: lost)
        let again = try RocksDBStore(at: scratch.store)
        #expect(try contents(again.view(), rows).count == 100)
        try again.close()

        scratch.put(back: lost.filter { isLeft($0.key) })
        let damaged = scratch.image()
        #expect(refusal() == .damaged)
        let isUnchanged = scratch.image() == damaged
        #expect(isUnchanged)
      }
    }

    /// A later version of RocksDB may write fields that others may pass over.
    @Test(
      "A flush whose record a crash tore is undone, although the record after it came whole",
      arguments: [false, true])
    func tornFlush(hasLaterFields: Bool) throws {
      let store = try RocksDBStore(at: scratch.store)
      _ = try store.apply(batch(1), .power)
      var before = scratch.image()
      try store.close()
      var after = scratch.image()
      if hasLaterFields {
        let manifest = try name("MANIFEST-")
        let old = try #require(before[manifest])
        // The field 8192 + 500, of two bytes.
        let later = old + Self.record([0xF4, 0x43, 2, 7, 7])
        before[manifest] = later
        after[manifest]?.replaceSubrange(..<old.count, with: later)
      }
      let (files, manifest, records) = try crash(before, after)
      // RocksDB adds two records and syncs them together.
      #expect(records.count == 2)
      // The logs go then.
      try expectUndone(records.first, of: manifest, in: files) {
        !$0.hasSuffix(".log") || files[$0] == []
      }
    }

    /// A record as RocksDB's logs and lists have them.
    static func record(_ payload: Bytes) -> Bytes {
      var sum = ~UInt32(0)
      for byte in [1] + payload {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0x82F6_3B78 : 0) }
      }
      let masked = (~sum >> 15 | ~sum << 17) &+ 0xA282_EAD8
      return (0..<4).map { UInt8(truncatingIfNeeded: masked >> (8 * $0)) }
        + [UInt8(payload.count), 0, 1] + payload
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
      try expectUndone(records.first, of: manifest, in: files) { after[$0] != nil }
    }

    @Test("A compaction whose record a crash tore is undone, also after one that began a new list")
    func tornAfterNewList() throws {
      for round in 0..<8 { try commit(round) }
      var options = RocksDBOptions()
      options.manifest = 800
      let store = try RocksDBStore(at: scratch.store, options)
      let first = list(of: scratch.image())
      var (before, after) = (scratch.image(), scratch.image())
      // Each time one piece: until one is added to a list that another one began.
      repeat {
        before = after
        try #require(try store.tidy(.zero))
        after = scratch.image()
      } while list(of: before) == first || list(of: before) != list(of: after)
      try store.close()
      let (files, manifest, records) = try crash(before, after)
      try expectUndone(records.first, of: manifest, in: files) { after[$0] != nil }
    }

    /// The list's name.
    func list(of files: [String: Bytes]) -> String? {
      files["CURRENT"].map { String(decoding: $0.dropLast(), as: UTF8.self) }
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
      let manifest = try #require(list(of: crashed))
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
