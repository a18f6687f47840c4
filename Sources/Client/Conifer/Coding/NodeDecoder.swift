import ConiferEngine
public import ConiferTree
import Foundation

/// A decoder of `Decodable` values from nodes, without JSON text between.
///
/// - Numbers decode as any type that holds them exactly, and as floating point.
/// - An array decodes from a map: with keys from 0 up as an array, whose holes are left out unless
///   elements are optional; with other keys, such as push ids, the children in key order.
/// - What is absent decodes as an empty array or dictionary, since the tree holds no empty ones.
/// - `Date` is milliseconds since 1970, as server timestamps are; `Data` is base64; `URL` a string.
public struct NodeDecoder: Sendable {
  /// What types are told while they decode.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// A decoder.
  public init() {}

  /// The value that a node means.
  ///
  /// - Throws: `coding`; the message names the place within the node.
  public func decode<Value: Decodable>(
    _ type: Value.Type, from node: Node
  ) throws(DatabaseError) -> Value {
    do {
      return try NodeDecoding(node: node, codingPath: [], userInfo: userInfo).decode(type)
    } catch {
      throw DatabaseError(coding: error, "decoded as \(type)")
    }
  }
}

/// A decoder at one node.
struct NodeDecoding: ScalarDecoding {
  let node: Node
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any]

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard !node.isLeaf else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(KeyedNodeContainer<Key>(decoding: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard !node.isLeaf else { throw mismatch([Any].self) }
    return UnkeyedNodeContainer(decoding: self)
  }

  func nested(_ node: Node, _ key: any CodingKey) -> NodeDecoding {
    NodeDecoding(node: node, codingPath: codingPath + [key], userInfo: userInfo)
  }

  /// The value that the node means; types that have a form of their own in the tree come first.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let special: Any? =
      switch type {
      case is Date.Type: Date(timeIntervalSince1970: try decode(Double.self) / 1000)
      case is Data.Type: try convert(String.self) { Data(base64Encoded: $0) }
      case is URL.Type: try convert(String.self) { URL(string: $0) }
      case is Decimal.Type: Decimal(try decode(Double.self))
      default: nil
      }
    // A cast of nil is avoided: it would succeed as the nil of an optional type.
    if let special, let value = special as? Value { return value }
    return try Value(from: self)
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "the data there is \(node.debugDescription)")
    return node.isEmpty ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

extension NodeDecoding {
  func decodeNil() -> Bool { node.isEmpty }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let value)? = node.leaf else { throw mismatch(type) }
    return value
  }

  func decode(_ type: String.Type) throws -> String {
    guard case .string(let value)? = node.leaf else { throw mismatch(type) }
    return value
  }

  func decode(_ type: Double.Type) throws -> Double {
    guard let value = node.leaf?.number else { throw mismatch(type) }
    return value
  }

  func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
    let value: Integer? =
      switch node.leaf {
      case .integer(let number)?: Integer(exactly: number)
      case .double(let number)?: Integer(exactly: number)
      default: nil
      }
    guard let value else { throw mismatch(type) }
    return value
  }
}

extension DatabaseError {
  /// The error for what a type's own coding threw.
  init(coding error: any Error, _ what: String) {
    let failure = CodingFailure(error)
    let place = failure.path.joined(separator: "/")
    self.init(
      .coding, "The data cannot be \(what): at /\(place), \(failure.words).", cause: "\(error)")
  }
}
