package import ConiferKeyValue

/// What stands in a run for a leaf that is stored in parts: their number and the length of the leaf's
/// encoding, then what belongs to the leaf besides, as its priority.
package struct PartsReference: Equatable {
  package let number: UInt64
  package let count: Int
  /// What follows, with its tag; empty when nothing does.
  package let rest: Bytes

  package init(number: UInt64, count: Int, rest: Bytes) {
    self.number = number
    self.count = count
    self.rest = rest
  }

  /// The reference that a value is, or nil when it is none.
  package init?(_ value: Bytes) {
    var reader = ByteReader(value)
    guard let tag = reader.byte(), tag & ~ValueTag.priorityFlag == ValueTag.external,
      let number = reader.varint(), let count = reader.size()
    else { return nil }
    self.number = number
    self.count = count
    rest = reader.take(reader.remaining) ?? []
  }

  /// The same of parts with another number.
  package func numbered(_ number: UInt64) -> PartsReference {
    PartsReference(number: number, count: count, rest: rest)
  }

  package var value: Bytes {
    var writer = ByteWriter()
    writer.byte(ValueTag.external | (rest.isEmpty ? 0 : ValueTag.priorityFlag))
    writer.varint(number)
    writer.varint(count)
    writer.append(rest)
    return writer.bytes
  }
}
