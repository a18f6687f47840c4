#if Encryption
  import ConiferKeyValue
  import ConiferStorage
  import TestSupport
  import Testing

  @testable import ConiferEncryption

  @Suite("Records are sealed and bound to their place")
  struct SealingTests {
    private static let a = Space(id: 1, shape: .rows)
    private static let b = Space(id: 3, shape: .blobs)
    private static let marker = Bytes("a secret that nobody may read".utf8)

    private static func filled(_ base: RecordingStore) throws -> EncryptedStore {
      let store = try encrypted(base)
      for space in [a, b] {
        for number in 0..<6 {
          try store.put(space, [UInt8(number), 1], marker + [UInt8(number)])
        }
      }
      return store
    }

    @Test("No value is readable below, and all come back after reopening")
    func roundTrip() throws {
      let base = RecordingStore()
      _ = try Self.filled(base)
      for batch in base.batches {
        for case .put(_, _, let value) in batch.edits {
          #expect(!value.contains(Self.marker), "the marker stands below")
        }
      }
      let store = try encrypted(base)
      for number in 0..<6 {
        #expect(try store.value(Self.a, [UInt8(number), 1]) == Self.marker + [UInt8(number)])
      }
    }

    @Test(
      "A record with any byte changed, cut or lengthened is damaged, and its neighbours are not")
    func tampered() throws {
      let base = RecordingStore()
      let store = try Self.filled(base)
      let key: Bytes = [3, 1]
      let whole = try base.raw(Self.a, key)
      var forgeries: [Bytes] = whole.indices.map { index in
        var bytes = whole
        bytes[index] ^= 1 << UInt8(index % 8)
        return bytes
      }
      forgeries += (0..<whole.count).map { Bytes(whole.prefix($0)) } + [whole + [0], []]
      for forgery in forgeries {
        try base.forge(Self.a, key, forgery)
        let view = try store.view()
        #expect(code { () throws(StoreError) in _ = try view.value(Self.a, key) } == .damaged)
        var walked = 0
        let error = caught { () throws(StoreError) in
          try view.walk(Self.a, .atOrAfter([])) { _, _ in
            walked += 1
            return .next
          }
        }
        #expect(error?.code == .damaged && walked == 3)
        #expect(error?.place == StoreError.Place(space: Self.a.id, key: key))
        #expect(error?.found == forgery)
        var keys = 0
        try view.walkKeys(Self.a, .atOrAfter([])) { _, _ in
          keys += 1
          return .next
        }
        #expect(keys == 6)
        #expect(try view.value(Self.a, [4, 1]) == Self.marker + [4])
      }
      try base.forge(Self.a, key, whole)
      #expect(try store.value(Self.a, key) == Self.marker + [3])
    }

    @Test("A record of another key, space or store is damaged")
    func moved() throws {
      let base = RecordingStore()
      let store = try Self.filled(base)
      let other = RecordingStore()
      _ = try Self.filled(other)
      let key: Bytes = [3, 1]
      try store.put(Self.a, [3, 2], Self.marker)
      let places: [(String, Bytes)] = [
        ("another key of its scope", try base.raw(Self.a, [3, 2])),
        ("another scope", try base.raw(Self.a, [4, 1])),
        ("another space", try base.raw(Self.b, key)), ("another store", try other.raw(Self.a, key)),
      ]
      for (place, value) in places {
        try #require(!value.isEmpty)
        try base.forge(Self.a, key, value)
        #expect(
          code { () throws(StoreError) in _ = try store.value(Self.a, key) } == .damaged,
          "\(place)")
      }
    }

    @Test("What is lost of a scope's key or a session hides no other scope from a walk over all")
    func lost() throws {
      let scope = StoreScope(prefix: [3])
      for forgery: Bytes? in [[1, 2, 3], nil] {
        for victim in [LayerRecord.scopeKey(scope, 2), LayerRecord.sessionKey(2)] {
          let base = RecordingStore()
          for number: UInt8 in [1, 3, 4] {
            try encrypted(base).put(Self.a, [number, 1], [number])
          }
          for key in [victim, LayerRecord.copies + victim] {
            try base.forge(.layer, key, forgery)
          }
          let view = try encrypted(base).view()
          #expect(code { () throws(StoreError) in _ = try view.value(Self.a, [3, 1]) } == .damaged)
          #expect(code { () throws(StoreError) in _ = try view.walkAll(Self.a, [3]) } == .damaged)
          let words = "\(victim) \(forgery ?? [])"
          if forgery == nil, victim == LayerRecord.sessionKey(2) {
            // Nothing tells a session that is gone from a number that was changed.
            let error = caught { () throws(StoreError) in _ = try view.walkAll(Self.a, []) }
            #expect(error?.code == .damaged && error?.place?.key == [3, 1], "\(words)")
          } else {
            #expect(try view.walkAll(Self.a, []) == [[1], [4]], "\(words)")
          }
        }
      }
    }

    @Test("The layer's own space is hidden and refused")
    func ownSpace() throws {
      let base = RecordingStore()
      let store = try Self.filled(base)
      #expect(try store.value(.layer, LayerRecord.headerKey) == nil)
      #expect(try contents(store.view(), .layer).isEmpty)
      for fill: (inout Batch) -> Void in [
        { $0.put(.layer, [1], [1]) }, { $0.delete(.layer, LayerRecord.headerKey) },
        { $0.clear(.layer, from: [], to: [0xFF]) },
      ] {
        var batch = Batch()
        fill(&batch)
        #expect(code { () throws(StoreError) in try store.apply(batch, .relaxed) } == .invalid)
      }
    }

    @Test("Records take at most as much more as the traits say, small ones 19 bytes")
    func overhead() throws {
      let base = RecordingStore()
      _ = try Self.filled(base)
      #expect(try base.raw(Self.a, [0, 1]).count == Self.marker.count + 1 + 19)
      #expect(try encrypted(base).traits.bestValueSize == 4080 - SealedRecord.overhead)
    }
  }

  extension OrderedView {
    /// The values of a walk to the end.
    fileprivate func walkAll(_ space: Space, _ from: Bytes) throws(StoreError) -> [Bytes] {
      var values: [Bytes] = []
      try walk(space, .atOrAfter(from)) { _, value in
        values.append(Bytes(value))
        return .next
      }
      return values
    }
  }

  /// The error that a closure throws, nil when it throws none.
  func caught(_ body: () throws(StoreError) -> Void) -> StoreError? {
    do throws(StoreError) {
      try body()
      return nil
    } catch { return error }
  }

  extension Bytes {
    /// Whether bytes stand anywhere within.
    func contains(_ other: Bytes) -> Bool {
      guard let first = other.first, count >= other.count else { return false }
      return withUnsafeBufferPointer { all in
        other.withUnsafeBufferPointer { part in
          var at = 0
          while at <= all.count - part.count {
            if all[at] == first, all[at..<(at + part.count)].elementsEqual(part) { return true }
            at += 1
          }
          return false
        }
      }
    }
  }
#endif
