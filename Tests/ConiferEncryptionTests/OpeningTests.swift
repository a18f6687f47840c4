#if Encryption
  import ConiferKeyValue
  import ConiferStorage
  import ConiferTree
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  @Suite("Opening asks for the right key and changes nothing otherwise")
  struct OpeningTests {
    private static func backend(
      _ base: RecordingStore, _ key: Bytes?
    ) throws(StoreError) -> any StorageBackend {
      let options = StorageOptions(encryption: key.map { StoreEncryption(key: $0) })
      return try PackedBackend.open(base, name: "recording", options: options)
    }

    private static func filled(_ key: Bytes?) async throws -> RecordingStore {
      let base = RecordingStore()
      let backend = try backend(base, key)
      let tree = try await backend.tree(named: "main")
      try await backend.commit([.overwrite(tree, "a", 1)])
      try await backend.close()
      return base
    }

    @Test("A wrong key, no key, a key of a plain store and half a key are refused with a remedy")
    func refused() async throws {
      let sealed = try await Self.filled(keyA)
      let plain = try await Self.filled(nil)
      let cases: [(RecordingStore, Bytes?, StoreError.Code, String)] = [
        (sealed, keyB, .wrongKey, "not this store's"), (sealed, nil, .wrongKey, "is encrypted"),
        (plain, keyA, .wrongKey, "without encryption"),
        (sealed, Bytes(keyA.prefix(16)), .invalid, "32 bytes"),
        (RecordingStore(), [], .invalid, "32 bytes"),
      ]
      for (base, key, code, words) in cases {
        let before = base.batches.count
        let error = caught { () throws(StoreError) in _ = try Self.backend(base, key) }
        #expect(error?.code == code)
        #expect(error?.message.contains(words) == true, "\(String(describing: error))")
        #expect(base.batches.count == before)
      }
      #expect(try Self.backend(sealed, keyA).traits.isEncrypted)
      #expect(try !Self.backend(plain, nil).traits.isEncrypted)
    }

    @Test("A backend made on the store itself never leaves out the encryption that was asked for")
    func direct() throws {
      let options = StorageOptions(encryption: StoreEncryption(key: keyA))
      #expect(
        code { () throws(StoreError) in
          _ = try MemoryBackend(MemoryStore(), name: "memory", options: options)
        } == .invalid)
    }

    @Test("A header with any byte changed or cut is refused, unless its copy is whole")
    func header() throws {
      let base = RecordingStore()
      try encrypted(base).put(rows, [1], [1])
      let (key, copy) = (LayerRecord.headerKey, LayerRecord.copies + LayerRecord.headerKey)
      let (whole, wholeCopy) = (try base.raw(.layer, key), try base.raw(.layer, copy))
      for index in whole.indices {
        var forged = whole
        forged[index] ^= 0x40
        for value in [forged, Bytes(whole.prefix(index))] {
          try base.forge(.layer, key, value)
          #expect(try encrypted(base).value(rows, [1]) == [1])
          try base.forge(.layer, copy, value)
          #expect(code { () throws(StoreError) in _ = try encrypted(base) } == .damaged)
          try base.forge(.layer, key, whole)
          #expect(try encrypted(base).value(rows, [1]) == [1])
          try base.forge(.layer, copy, wholeCopy)
        }
      }
      // Lost altogether: what is there is not taken for a plain store, nor made anew.
      try base.forge(.layer, key, nil)
      #expect(try encrypted(base).value(rows, [1]) == [1])
      try base.forge(.layer, copy, nil)
      let before = base.batches.count
      #expect(code { () throws(StoreError) in _ = try encrypted(base) } == .damaged)
      // With all that the layer knows, as when their page is lost: the records are sealed.
      for (key, _) in try base.rowsOf(.layer) { try base.forge(.layer, key, nil) }
      #expect(code { () throws(StoreError) in _ = try encrypted(base) } == .damaged)
      // One that is not makes it a store without encryption.
      try base.forge(rows, [2], Bytes("a plain value of some length".utf8))
      #expect(code { () throws(StoreError) in _ = try encrypted(base) } == .wrongKey)
      #expect(base.batches.count == before)
    }

    @Test("A newer format is refused as such")
    func newer() throws {
      let base = RecordingStore()
      _ = try encrypted(base)
      let key = LayerRecord.headerKey
      var payload = try #require(LayerRecord.open(key, base.raw(.layer, key)))
      payload[0] += 1
      try base.forge(.layer, key, LayerRecord.seal(key, payload))
      try base.forge(.layer, LayerRecord.copies + key, nil)
      #expect(code { () throws(StoreError) in _ = try encrypted(base) } == .newerFormat)
    }

    @Test(
      "A damaged session or wrapped key costs nothing while its copy is whole, then its records")
    func ownRecords() throws {
      let base = RecordingStore()
      var store = try encrypted(base)
      try store.put(rows, [1, 1], [1])
      store = try encrypted(base)
      try store.put(rows, [2, 1], [2])
      let victims = [LayerRecord.sessionKey(1), LayerRecord.scopeKey(StoreScope(prefix: [1]), 1)]
      for key in victims {
        let copy = LayerRecord.copies + key
        let (whole, wholeCopy) = (try base.raw(.layer, key), try base.raw(.layer, copy))
        for index in whole.indices {
          var forged = whole
          forged[index] ^= 0x04
          for value in [forged, Bytes(whole.prefix(index))] {
            for (first, second) in [(value, wholeCopy), (whole, value)] {
              try base.forge(.layer, key, first)
              try base.forge(.layer, copy, second)
              #expect(try encrypted(base).value(rows, [1, 1]) == [1])
            }
            try base.forge(.layer, key, value)
            let store = try encrypted(base)
            #expect(
              code { () throws(StoreError) in _ = try store.value(rows, [1, 1]) } == .damaged)
            #expect(try store.value(rows, [2, 1]) == [2])
          }
        }
        try base.forge(.layer, key, whole)
        try base.forge(.layer, copy, wholeCopy)
      }
      #expect(try encrypted(base).value(rows, [1, 1]) == [1])
    }

    @Test("A damaged record of the layer is told by a check, and mended by the next commit")
    func mended() throws {
      let base = RecordingStore()
      try encrypted(base).put(rows, [1, 1], [1])
      let keys = [
        LayerRecord.headerKey, LayerRecord.sessionKey(1),
        LayerRecord.scopeKey(StoreScope(prefix: [1]), 1),
      ]
      for key in keys + keys.map({ LayerRecord.copies + $0 }) {
        let whole = try base.raw(.layer, key)
        try base.forge(.layer, key, [0] + whole.dropFirst())
        let store = try encrypted(base)
        var findings: [StoreFinding] = []
        _ = try store.verify { findings.append($0) }
        #expect(findings.count == 1 && findings[0].words.contains("mends it"), "\(findings)")
        try store.put(rows, [1, 2], [2])
        #expect(try base.raw(.layer, key) == whole)
        let isReadable = try encrypted(base).verify { _ in Issue.record("found again") }
        #expect(isReadable)
      }
    }

    @Test("The number of a session that is lost is never given to another one")
    func numbers() throws {
      let base = RecordingStore()
      try encrypted(base).put(rows, [1, 1], [1])
      for key in [LayerRecord.sessionKey(1), LayerRecord.copies + LayerRecord.sessionKey(1)] {
        try base.forge(.layer, key, [1])
      }
      try encrypted(base).put(rows, [1, 2], [2])
      let sealed = try base.raw(rows, [1, 2])
      let head = SealedRecord.Head(sealed.span.bytes)
      #expect(head?.session == 2)
      #expect(try encrypted(base).value(rows, [1, 2]) == [2])
    }

    @Test("What another process wrote while the store was suspended is read, its key is asked for")
    func suspended() throws {
      let base = RecordingStore()
      let store = try encrypted(base)
      try store.put(rows, [1, 1], [1])
      try store.suspend()
      let copy = try base.cut(after: base.batches.count)
      let other = try encrypted(copy)
      try other.put(rows, [2, 1], [2])
      try base.resume()
      for batch in copy.batches.dropFirst(base.batches.count) { try base.apply(batch, .power) }
      try base.suspend()
      try store.resume()
      #expect(try store.value(rows, [2, 1]) == [2])
      try store.put(rows, [3, 1], [3])
      #expect(try encrypted(base).value(rows, [3, 1]) == [3])
      try encrypted(base).rotate(to: keyB)
      try store.suspend()
      #expect(code { () throws(StoreError) in try store.resume() } == .wrongKey)
      #expect(code { () throws(StoreError) in try store.put(rows, [4], [4]) } == .suspended)
    }

    @Test("Records of unknown kinds and shapes in the layer's space are passed over")
    func strangers() throws {
      let base = RecordingStore()
      try encrypted(base).put(rows, [1, 1], [1])
      for key: Bytes in [[], [0], [0x7A, 1], [0x73], [0x73, 1], [0x6B], [0x6B, 0xFF, 0xFF, 1]] {
        try base.forge(.layer, key, [1, 2, 3])
      }
      #expect(try encrypted(base).value(rows, [1, 1]) == [1])
    }
  }
#endif
