/// A byte string: a key or a value.
public typealias Bytes = [UInt8]

/// One of the named keyspaces of a store, kept apart by a leading byte of each key.
///
/// A store holds every space in one file and changes them in one atomic batch. The shape is a hint
/// of what the rows look like, so that a store may choose a layout for a space that is empty; it changes
/// no behaviour: spaces with one id are one space, whatever their shapes.
public struct Space: Hashable, Sendable {
  /// A hint of what a space's rows look like, by which a store may choose its layout. It is public,
  /// since stores outside of Conifer may do so too.
  public enum Shape: UInt8, Sendable {
    /// Small values, under about 900 bytes.
    case rows
    /// Values of kilobytes: packed runs and parts of large values.
    case blobs
    /// Appended at the end, read and deleted from the front.
    case fifo
  }

  /// The leading byte, 1 to 254; two spaces of one store never share it.
  public let id: UInt8
  /// The shape of its rows.
  public let shape: Shape

  /// A space.
  ///
  /// - Parameters:
  ///   - id: the leading byte, 1 to 254.
  ///   - shape: what its rows look like; always the same for one id.
  public init(id: UInt8, shape: Shape) {
    self.id = id
    self.shape = shape
  }

  /// Whether two spaces have one id.
  public static func == (a: Space, b: Space) -> Bool { a.id == b.id }

  /// Hashes the id.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
