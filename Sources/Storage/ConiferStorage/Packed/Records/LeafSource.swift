import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Where the parts of tagged leaves come from: one stream of bytes, or the columns of a run.
protocol LeafSource {
  mutating func zigzag() -> Int64?
  mutating func double() -> Double?
  mutating func text() -> String?
}

/// One stream of bytes, in which a leaf's tag comes before its parts.
protocol LeafStream: LeafSource {
  mutating func byte() -> UInt8?
  mutating func varint() -> UInt64?
  mutating func size() -> Int?
}

extension LeafSource {
  /// The leaf of a tag without its priority flag, or nil when there is none.
  @inline(__always)
  mutating func leaf(_ tag: UInt8) -> Leaf? {
    switch tag {
    case LeafCodec.Tag.false: return .bool(false)
    case LeafCodec.Tag.true: return .bool(true)
    case LeafCodec.Tag.integer: return zigzag().map { .integer($0) }
    case LeafCodec.Tag.double: return double().map { .double($0) }
    case LeafCodec.Tag.string: return text().map { .string($0) }
    case LeafCodec.Tag.timestampPlaceholder: return .serverValue(.timestamp)
    case LeafCodec.Tag.incrementInteger:
      return zigzag().map { .serverValue(.increment(.integer($0))) }
    case LeafCodec.Tag.incrementDouble:
      return double().map { .serverValue(.increment(.double($0))) }
    case LeafCodec.Tag.otherPlaceholder: return text().map { .serverValue(.other(name: $0)) }
    default: return nil
    }
  }
}

extension ByteReader: LeafStream {}

extension LentReader: LeafStream {}
