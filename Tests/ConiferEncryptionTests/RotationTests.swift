#if Encryption
  import ConiferKeyValue
  import ConiferStorage
  import Synchronization
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  @Suite("Keys are rotated at once, records in slices")
  struct RotationTests {
    /// Rows in two spaces and five scopes, more than a few steps take.
    private static func filled(_ base: RecordingStore) throws {
      let store = try encrypted(base)
      for space in [rows, blobs] {
        var batch = Batch()
        for number in 0..<700 {
          batch.put(space, [UInt8(number % 5)] + key(number), key(number) + [space.id])
        }
        try store.apply(batch, .process)
      }
    }

    private static func expectWhole(_ store: EncryptedStore, _ words: String) throws {
      for space in [rows, blobs] {
        let found = try contents(store.view(), space)
        #expect(found.count == 700, "\(words)")
        #expect(found.allSatisfy { $0[1] == Bytes($0[0].dropFirst()) + [space.id] }, "\(words)")
      }
    }

    @Test("Cut off at every commit, one of the two keys opens all records and tidying goes on")
    func cutOff() throws {
      let base = RecordingStore()
      try Self.filled(base)
      let store = try encrypted(base)
      try store.put(rows, [0] + key(0), key(0) + [rows.id])
      let before = base.batches.count
      try store.rotate(to: keyB)
      var slices = 0
      while try store.tidy(.zero) {
        slices += 1
        // Life goes on meanwhile.
        try store.put(rows, [0] + key(0), key(0) + [rows.id])
      }
      #expect(slices >= 5 && !store.isResealing)
      for count in before...base.batches.count {
        let cut = try base.cut(after: count)
        let isOld = count == before
        let refused = isOld ? keyB : keyA
        #expect(code { () throws(StoreError) in _ = try encrypted(cut, refused) } == .wrongKey)
        let again = try encrypted(cut, isOld ? keyA : keyB)
        try Self.expectWhole(again, "cut after \(count) of \(base.batches.count) batches")
        if isOld { continue }
        while try again.tidy(.zero) {}
        #expect(!again.isResealing)
        try Self.expectNew(cut, again)
      }
    }

    /// Nothing is left of the old keys.
    private static func expectNew(_ base: RecordingStore, _ store: EncryptedStore) throws {
      let floor = try store.ring.change { (state) throws(StoreError) in state.header.floor }
      for space in [rows, blobs] {
        for (key, value) in try base.rowsOf(space) {
          let head = SealedRecord.Head(value.span.bytes)
          #expect(try #require(head).session >= floor, "\(key)")
        }
      }
      for key in try base.own(LayerRecord.scopes) {
        #expect(try #require(LayerRecord.scope(key)).first >= floor)
      }
      for key in try base.own(LayerRecord.sessions) {
        #expect(try #require(LayerRecord.session(key)) >= floor)
      }
      try expectWhole(try encrypted(base, keyB), "after resealing")
    }

    @Test("A rotation that the store refuses changes nothing")
    func refused() throws {
      let base = RecordingStore()
      try Self.filled(base)
      let store = try encrypted(base)
      base.mostBatches.withLock { $0 = base.batches.count }
      #expect(code { () throws(StoreError) in try store.rotate(to: keyB) } == .full)
      #expect(code { () throws(StoreError) in try store.rotate(to: [1]) } == .invalid)
      base.mostBatches.withLock { $0 = .max }
      try store.put(rows, [0] + key(0), key(0) + [rows.id])
      try Self.expectWhole(try encrypted(base), "after a refused rotation")
    }

    @Test("What a refused batch would have stored is stored with the next one")
    func later() throws {
      let base = RecordingStore()
      let store = try encrypted(base)
      base.mostBatches.withLock { $0 = base.batches.count }
      #expect(code { () throws(StoreError) in try store.put(rows, [9], [9]) } == .full)
      base.mostBatches.withLock { $0 = .max }
      try store.put(rows, [9], [9])
      #expect(try encrypted(base).value(rows, [9]) == [9])
    }

    @Test("Keys that a refused batch left unstored are stored with the new key")
    func unstored() throws {
      let base = RecordingStore()
      let store = try encrypted(base)
      base.mostBatches.withLock { $0 = base.batches.count }
      #expect(code { () throws(StoreError) in try store.put(rows, [9], [9]) } == .full)
      base.mostBatches.withLock { $0 = .max }
      try store.rotate(to: keyB)
      try store.suspend()
      try store.resume()
      try store.put(rows, [9], [9])
      #expect(try encrypted(base, keyB).value(rows, [9]) == [9])
    }

    @Test("Rotation goes on where it was when records of one scope cannot be read")
    func withoutScopeKey() throws {
      let base = RecordingStore()
      let own = Bytes(repeating: 7, count: 32)
      let withKey: @Sendable (StoreScope) -> Bytes? = { $0.prefix == [1] ? own : nil }
      var store = try encrypted(base, scopeKey: withKey)
      try store.put(rows, [1, 1], [1])
      try store.put(rows, [2, 1], [2])
      store = try encrypted(base)
      try store.rotate(to: keyB)
      while try store.tidy(.zero) {}
      // What could not be read is still to be done; the rest is, and tidying does not go on for ever.
      #expect(store.isResealing)
      #expect(code { () throws(StoreError) in _ = try store.value(rows, [1, 1]) } == .wrongKey)
      #expect(try encrypted(base, keyB).isResealing)
      store = try encrypted(base, keyB, scopeKey: withKey)
      #expect(try store.value(rows, [1, 1]) == [1])
      #expect(try store.value(rows, [2, 1]) == [2])
      while try store.tidy(.zero) {}
      #expect(!store.isResealing)
      let floor = try store.ring.change { (state) throws(StoreError) in state.header.floor }
      for (_, value) in try base.rowsOf(rows) {
        let head = SealedRecord.Head(value.span.bytes)
        #expect(try #require(head).session >= floor)
      }
      #expect(try encrypted(base, keyB, scopeKey: withKey).value(rows, [1, 1]) == [1])
    }

    @Test("A scope's own key that is given later lets the same open store go on")
    func laterKey() throws {
      let base = RecordingStore()
      let own = Bytes(repeating: 7, count: 32)
      let isGiven = Mutex(true)
      let store = try encrypted(base) { scope in
        scope.prefix == [1] && isGiven.withLock { $0 } ? own : nil
      }
      try store.put(rows, [1, 1], [1])
      try store.suspend()
      try store.resume()
      isGiven.withLock { $0 = false }
      try store.rotate(to: keyB)
      while try store.tidy(.zero) {}
      #expect(store.isResealing)
      isGiven.withLock { $0 = true }
      while try store.tidy(.zero) {}
      #expect(!store.isResealing)
      #expect(try store.value(rows, [1, 1]) == [1])
    }

    @Test("A scope's own key that is taken away and given again leaves each session one key")
    func takenAway() throws {
      let base = RecordingStore()
      let own = Bytes(repeating: 7, count: 32)
      let isGiven = Mutex(true)
      let scopeKey: @Sendable (StoreScope) -> Bytes? = { scope in
        scope.prefix == [1] && isGiven.withLock { $0 } ? own : nil
      }
      let store = try encrypted(base, scopeKey: scopeKey)
      try store.put(rows, [1, 1], [1])
      try store.put(rows, [2, 1], [2])
      isGiven.withLock { $0 = false }
      try store.rotate(to: keyB)
      #expect(code { () throws(StoreError) in try store.put(rows, [1, 2], [1]) } == .wrongKey)
      #expect(try Self.tidied(store))
      #expect(store.isResealing)
      // What was opened before stays so; it is written no more with the key of before.
      #expect(try store.value(rows, [1, 1]) == [1])
      isGiven.withLock { $0 = true }
      try store.put(rows, [1, 3], [3])
      try store.suspend()
      try store.resume()
      for store in [store, try encrypted(base, keyB, scopeKey: scopeKey)] {
        #expect(try contents(store.view(), rows).map { $0[1] } == [[1], [3], [2]])
      }
      #expect(try Self.tidied(store))
      #expect(!store.isResealing)
      let again = try encrypted(base, keyB, scopeKey: scopeKey)
      #expect(try contents(again.view(), rows).map { $0[1] } == [[1], [3], [2]])
    }

    /// Whether tidying comes to an end.
    private static func tidied(_ store: EncryptedStore) throws -> Bool {
      for _ in 0..<100 { if try !store.tidy(.zero) { return true } }
      return false
    }

    @Test("A scope whose newest key was dropped seals no more with it")
    func dropped() throws {
      let base = RecordingStore()
      let store = try encrypted(base)
      try store.put(rows, [1, 1], [1])
      try store.put(rows, [2, 1], [2])
      // A record that cannot be read keeps the old key.
      let whole = try base.raw(rows, [1, 1])
      try base.forge(rows, [1, 1], whole.dropLast() + [whole.last.map { $0 ^ 1 } ?? 0])
      try store.rotate(to: keyB)
      try store.put(rows, [1, 2], [2])
      var batch = Batch()
      batch.delete(rows, [1, 2])
      try store.apply(batch, .process)
      #expect(try Self.tidied(store))
      #expect(!store.isResealing)
      let first = LayerRecord.scopeKey(StoreScope(prefix: [1]), 1)
      #expect(
        try base.own(LayerRecord.scopes).filter { $0.starts(with: first.dropLast(4)) } == [first])
      try store.put(rows, [1, 3], [3])
      #expect(try store.value(rows, [1, 3]) == [3])
      #expect(try encrypted(base, keyB).value(rows, [1, 3]) == [3])
      #expect(try encrypted(base, keyB).value(rows, [2, 1]) == [2])
    }

    @Test("Another key of its own, given after a rotation, seals nothing")
    func wrongKey() throws {
      let base = RecordingStore()
      let given = Mutex(Bytes(repeating: 7, count: 32))
      let store = try encrypted(base) { scope in
        scope.prefix == [1] ? given.withLock { $0 } : nil
      }
      try store.put(rows, [1, 1], [1])
      given.withLock { $0 = keyB }
      try store.rotate(to: keyB)
      #expect(code { () throws(StoreError) in try store.put(rows, [1, 2], [2]) } == .wrongKey)
      #expect(try Self.tidied(store))
      #expect(store.isResealing)
    }

    @Test("Tidying begins anew when a missing key is given, not when another one is there")
    func otherKey() throws {
      let base = RecordingStore()
      let (first, second) = (Bytes(repeating: 7, count: 32), Bytes(repeating: 8, count: 32))
      let given = Mutex(first)
      let scopeKey: @Sendable (StoreScope) -> Bytes? = { scope in
        scope.prefix == [1] ? given.withLock { $0 } : nil
      }
      var store = try encrypted(base, scopeKey: scopeKey)
      try store.put(rows, [1, 1], [1])
      try store.rotate(to: keyB)
      try store.put(rows, [1, 2], [2])
      // A lost key of a scope lets the app decide anew which one the scope has.
      let lost = LayerRecord.scopeKey(StoreScope(prefix: [1]), 2)
      for key in [lost, LayerRecord.copies + lost] { try base.forge(.layer, key, [1]) }
      given.withLock { $0 = second }
      store = try encrypted(base, keyB, scopeKey: scopeKey)
      try store.put(rows, [1, 3], [3])
      #expect(try Self.tidied(store))
      // A pass that began would not be done after one step.
      #expect(try !store.tidy(.zero))
      #expect(store.isResealing)
      given.withLock { $0 = first }
      #expect(try Self.tidied(store))
      #expect(!store.isResealing)
      given.withLock { $0 = second }
      store = try encrypted(base, keyB, scopeKey: scopeKey)
      #expect(try store.value(rows, [1, 1]) == [1])
      #expect(try store.value(rows, [1, 3]) == [3])
    }

    @Test("A view of before reads on with the old keys, which go when it is closed")
    func oldView() throws {
      let base = RecordingStore()
      try Self.filled(base)
      let store = try encrypted(base)
      try store.put(rows, [0] + key(0), key(0) + [rows.id])
      let view = try store.view()
      try store.rotate(to: keyB)
      for _ in 0..<100 { _ = try store.tidy(.zero) }
      #expect(try contents(view, rows).count == 700)
      #expect(try contents(view, blobs).count == 700)
      // A newer view needs none of them.
      let newer = try store.view()
      view.close()
      while try store.tidy(.zero) {}
      #expect(!store.isResealing)
      #expect(try contents(newer, rows).count == 700)
      try Self.expectNew(base, store)
    }
  }
#endif
