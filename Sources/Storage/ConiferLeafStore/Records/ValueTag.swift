/// The byte that a stored value begins with; the numbers are part of the format.
///
/// It tells the columns of a run what follows: nothing, numbers, or text.
package enum ValueTag {
  package static let null: UInt8 = 0  // reserved
  package static let `false`: UInt8 = 1
  package static let `true`: UInt8 = 2
  package static let integer: UInt8 = 3
  package static let double: UInt8 = 4
  package static let string: UInt8 = 5
  package static let timestampPlaceholder: UInt8 = 6
  package static let incrementInteger: UInt8 = 7
  package static let incrementDouble: UInt8 = 8
  package static let otherPlaceholder: UInt8 = 9
  // Reserved: 16 to 22.
  /// A document: the length of its bytes, then these.
  package static let document: UInt8 = 24
  /// A large leaf, which is stored in chunks: its number, then its length in bytes.
  package static let largeLeaf: UInt8 = 32
  /// Set in a tag when another value follows that belongs to the leaf: its priority.
  package static let priorityFlag: UInt8 = 0x80
}
