/// The first byte of each encoding, in the order of the types; they are stored, so none may change.
enum Label {
  /// The terminator of strings, arrays, maps and paths: less than every byte that can follow there.
  static let end: UInt8 = 0x00
  static let null: UInt8 = 0x05
  static let `false`: UInt8 = 0x0A
  static let `true`: UInt8 = 0x0B
  static let nan: UInt8 = 0x10
  static let negative: UInt8 = 0x11
  static let zero: UInt8 = 0x12
  static let positive: UInt8 = 0x13
  static let timestamp: UInt8 = 0x18
  static let serverTimestamp: UInt8 = 0x19
  static let string: UInt8 = 0x20
  static let bytes: UInt8 = 0x28
  static let reference: UInt8 = 0x30
  static let geoPoint: UInt8 = 0x38
  static let array: UInt8 = 0x40
  static let vector: UInt8 = 0x48
  static let map: UInt8 = 0x50
  /// The name of a field within a map.
  static let name: UInt8 = 0x60
  /// Segments of paths.
  static let numericSegment: UInt8 = 0x68
  static let segment: UInt8 = 0x69
}
