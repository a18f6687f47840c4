import ConiferKeyValue
import Testing

@Suite struct ContractValueTests {
  static let ordered: [Bytes] = [
    [], [0], [0, 0], [0, 0xFF], [1], [0x7F], [0x80], [0x80, 0], [0xFF], [0xFF, 0xFF],
  ]

  @Test func `Bytes are ordered as unsigned, prefixes first`() {
    for (i, a) in Self.ordered.enumerated() {
      for (j, b) in Self.ordered.enumerated() {
        #expect(bytesPrecede(a, b) == (i < j), "\(a) and \(b)")
        let order = a.span.bytes.compare(b).signum()
        #expect(order == (i - j).signum(), "\(a) and \(b)")
      }
    }
  }

  @Test func `A lent byte string knows its prefixes`() {
    let bytes: Bytes = [1, 2, 3]
    // A lent span cannot go through the macro, so its answers do.
    let answers = [[], [1, 2, 3], [1, 2, 3, 4], [2]].map { (prefix: Bytes) in
      bytes.span.bytes.starts(with: prefix)
    }
    #expect(answers == [true, true, false, false])
    let copy = Bytes(bytes.span.bytes)
    #expect(copy == bytes)
  }

  @Test func `Spaces are told apart by their ids alone`() {
    let shapes: [Space.Shape] = [.rows, .blobs, .fifo]
    #expect(Set(shapes.map { Space(id: 7, shape: $0) }).count == 1)
    #expect(Space(id: 7, shape: .rows) == Space(id: 7, shape: .blobs))
    #expect(Space(id: 7, shape: .rows) != Space(id: 8, shape: .rows))
  }

  @Test func `A batch keeps its edits in order`() {
    let rows = Space(id: 1, shape: .rows)
    var batch = Batch()
    #expect(batch.isEmpty)
    batch.put(rows, [1], [2])
    batch.clear(rows, from: [], to: [9])
    batch.delete(rows, [3])
    #expect(
      batch.edits == [
        .put(rows, key: [1], value: [2]), .clear(rows, from: [], to: [9]), .delete(rows, key: [3]),
      ])
  }

  @Test func `Durability levels are ordered by what they survive`() {
    #expect(Durability.allCases == [.relaxed, .process, .power])
    #expect(Durability.relaxed < .process && Durability.process < .power)
  }

  @Test func `An error tells its code, message, cause and record in few words`() {
    let error = StoreError(
      .damaged, "Restore a backup.", cause: "checksum",
      place: StoreError.Place(space: 2, key: [7]))
    #expect(error.description == "damaged: Restore a backup. (checksum)")
    #expect(error.place == StoreError.Place(space: 2, key: [7]))
    #expect(StoreError(.full, "Free some space.").description == "full: Free some space.")
    // A typed throw moves the code and one reference.
    #expect(MemoryLayout<StoreError>.size <= 24)
  }
}
