import ConiferKeyValue
import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferStorage

@Suite struct IndexDefinitionTests {
  @Test func `A pattern covers the nodes of its depth that it names`() throws {
    let index = try IndexDefinition("rooms/$room/messages", by: .child("ts"))
    #expect(index.covers("rooms/r1/messages"))
    #expect(!index.covers("rooms/r1/members"))
    #expect(!index.covers("rooms/r1"))
    #expect(!index.covers("rooms/r1/messages/m1"))
    #expect(try IndexDefinition(.root, by: .value).covers(.root))
    #expect(index.rule == #"".indexOn": ["ts"] at /rooms/$room/messages"#)
  }
}

@Suite struct IndexValueTests {
  /// Values in their order; those of one line are equal for an index.
  private static let ascending: [[Leaf?]] = [
    [nil], [.serverValue(.timestamp), .serverValue(.increment(1))], [false], [true],
    [.double(.nan)], [.double(-.infinity)], [.double(-1e300)], [-2], [.double(-1.5)],
    [.double(-0.0), 0], [.double(.leastNonzeroMagnitude)], [1],
    [.integer(1 << 53), .integer(1 << 53 + 1)],
    [.integer(1 << 53 + 2)], [.double(.infinity)], [""], ["\u{0}"], ["\u{0}\u{0}"], ["\u{1}"],
    ["\u{2}"], ["a"], ["a\u{0}"], ["a\u{1}"], ["a\u{2}"], ["aa"], ["é"], ["\u{D7FF}"],
    ["\u{1F600}"], ["\u{E000}"], ["\u{FFFF}"],
  ]

  private func bytes(_ leaf: Leaf?, isDescending: Bool = false) -> Bytes {
    var bytes = Bytes()
    IndexValue.append(
      leaf.map { .leaf($0) } ?? .null, isDescending: isDescending, longest: 12, to: &bytes)
    return bytes
  }

  @Test func `Bytes are in the order of values, and none begins another`() {
    var interior = Bytes()
    IndexValue.append(.interior, isDescending: false, longest: 12, to: &interior)
    for (i, line) in Self.ascending.enumerated() {
      for value in line {
        #expect(bytesPrecede(bytes(value), interior))
        for (j, other) in Self.ascending.enumerated() {
          for other in other {
            let order = compareBytes(bytes(value), bytes(other))
            #expect(order.signum() == (i - j).signum(), "\(value as Any) and \(other as Any)")
            let down = compareBytes(
              bytes(value, isDescending: true), bytes(other, isDescending: true))
            #expect(down.signum() == (j - i).signum(), "\(value as Any) and \(other as Any)")
            if i != j { #expect(!bytes(value).starts(with: bytes(other))) }
          }
        }
      }
    }
  }

  @Test func `Long strings are cut, marked, and sorted behind what they begin with`() {
    let base = "0123456789"
    for isDescending in [false, true] {
      for text in [base, base + "01", base + "\u{0}"] {
        let value = bytes(.string(text), isDescending: isDescending)
        let end = IndexValue.end(value, 0, isDescending: isDescending)
        #expect(end?.end == value.count && end?.isCut == false, "\(text)")
      }
      for text in [base + "012", base + "\u{0}1", base + "1\u{0}", base + base] {
        let value = bytes(.string(text), isDescending: isDescending)
        let end = IndexValue.end(value, 0, isDescending: isDescending)
        #expect(end?.end == value.count && end?.isCut == true, "\(text)")
        #expect(value.count <= 15)
      }
    }
    #expect(bytes(.string(base + "01x")) == bytes(.string(base + "01y")))
    #expect(bytesPrecede(bytes(.string(base + "01")), bytes(.string(base + "01x"))))
    #expect(bytesPrecede(bytes(.string(base + "01x")), bytes(.string(base + "02"))))
    #expect(bytesPrecede(bytes(.string(base + "1\u{0}")), bytes(.string(base + "1\u{2}"))))
  }
}
