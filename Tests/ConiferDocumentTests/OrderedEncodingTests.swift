import ConiferDocument
import TestSupport
import Testing

@Suite struct `The encoding that keeps the order` {
  private static func encoded(
    _ value: DocumentValue, _ direction: Direction = .ascending
  ) -> [UInt8] {
    var encoder = OrderedEncoder()
    encoder.append(value, direction)
    return encoder.bytes
  }

  private static func order(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a.lexicographicallyPrecedes(b) ? -1 : a == b ? 0 : 1
  }

  private static func check(_ a: DocumentValue, _ b: DocumentValue, _ place: Comment) {
    let expected = sign(DocumentValue.compare(a, b))
    #expect(order(encoded(a), encoded(b)) == expected, place)
    #expect(order(encoded(a, .descending), encoded(b, .descending)) == -expected, place)
  }

  @Test func `awkward numbers, each against each`() {
    var numbers = RandomValues.doubles.map(DocumentValue.double)
    for integer in RandomValues.integers {
      numbers += [.integer(integer), .double(Double(integer))]
      numbers += [.double(Double(integer).nextUp), .double(Double(integer).nextDown)]
      if integer < .max { numbers.append(.integer(integer + 1)) }
      if integer > .min { numbers.append(.integer(integer - 1)) }
    }
    for a in numbers { for b in numbers { Self.check(a, b, "\(a) against \(b)") } }
  }

  @Test func `the reference's table, each against each`() {
    let values = `The order of values`.ladder.flatMap { $0 }
    for a in values { for b in values { Self.check(a, b, "\(a) against \(b)") } }
  }

  @Test(arguments: Seeded.seeds(4))
  func `random values`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<2_000 {
      let a = RandomValues.value(&random)
      let b = RandomValues.value(&random)
      Self.check(a, b, "seed \(seed): \(a) against \(b)")
    }
  }

  /// Keys of an index: several components, each in its direction, then the document's path.
  @Test(arguments: Seeded.seeds(3))
  func `several components are compared one after the other`(seed: UInt64) throws {
    var random = Seeded(seed)
    for _ in 0..<2_000 {
      let directions = (0..<3).map { _ in random.pick([Direction.ascending, .descending]) }
      var keys: [(values: [DocumentValue], path: DocumentPath, bytes: [UInt8])] = []
      for _ in 0..<2 {
        let values = (0..<2).map { _ in
          random.pick([RandomValues.value(&random), "a", "a\u{0}", 1, [1], [], ["a": 1]])
        }
        let path = RandomValues.path(&random)
        var encoder = OrderedEncoder([7])
        for (value, direction) in zip(values, directions) { encoder.append(value, direction) }
        encoder.append(path, directions[2])
        keys.append((values, path, encoder.bytes))
        var decoder = OrderedDecoder(encoder.bytes, at: 1)
        for direction in directions[..<2] { try decoder.skipValue(direction) }
        #expect(try decoder.path(directions[2]) == path, "seed \(seed)")
        #expect(decoder.isAtEnd)
      }
      var expected = 0
      for i in 0..<2 where expected == 0 {
        expected = sign(DocumentValue.compare(keys[0].values[i], keys[1].values[i]))
        if directions[i] == .descending { expected = -expected }
      }
      if expected == 0 {
        expected = sign(DocumentPath.compare(keys[0].path, keys[1].path))
        if directions[2] == .descending { expected = -expected }
      }
      #expect(Self.order(keys[0].bytes, keys[1].bytes) == expected, "seed \(seed): \(keys)")
    }
  }

  @Test(arguments: Seeded.seeds(2))
  func `a type's first bytes tell what is compared with a value`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<3_000 {
      let (a, b) = (RandomValues.value(&random), RandomValues.value(&random))
      #expect(
        OrderedEncoder.firstBytes(ofTypeOf: a).contains(Self.encoded(b)[0])
          == DocumentValue.areComparable(a, b), "seed \(seed): \(a), \(b)")
    }
  }

  @Test func `small numbers and round times are short`() {
    #expect(Self.encoded(0).count == 1)
    #expect(Self.encoded(1).count == 3)
    #expect(Self.encoded(100).count <= 4)
    #expect(Self.encoded(-1).count == 3)
    #expect(Self.encoded(.integer(.max)).count <= 12)
    #expect(Self.encoded(.timestamp(.zero)).count <= 7)
  }

  @Test(arguments: Seeded.seeds(3))
  func `damaged bytes are an error`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<2_000 {
      var encoder = OrderedEncoder()
      encoder.append(RandomValues.value(&random))
      encoder.append(RandomValues.path(&random))
      var bytes = encoder.bytes
      if random.chance(50) {
        bytes.removeLast(1 + random.below(bytes.count))
        #expect(throws: DocumentError.self, "seed \(seed)") {
          var decoder = OrderedDecoder(bytes)
          try decoder.skipValue()
          _ = try decoder.path()
        }
      } else {
        // Whatever a changed byte makes of it: no trap.
        bytes[random.below(bytes.count)] = UInt8(random.below(256))
        var decoder = OrderedDecoder(bytes)
        try? decoder.skipValue()
        _ = try? decoder.path()
      }
    }
  }
}
