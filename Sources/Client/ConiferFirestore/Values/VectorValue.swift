/// A vector of numbers in a field, for nearest-neighbour search on the server.
public struct VectorValue: Sendable, Hashable, Codable {
  /// The numbers.
  public let array: [Double]

  /// A vector; a write of more than 2,048 numbers is refused.
  public init(_ array: [Double]) { self.array = array }
}
