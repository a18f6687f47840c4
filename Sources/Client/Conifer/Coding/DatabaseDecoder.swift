public import ConiferEngine
public import ConiferTree
public import Foundation

extension Database {
  /// A decoder of `Decodable` values from nodes, without JSON text between.
  ///
  /// - Numbers decode as any type that holds them exactly, and as floating point.
  /// - An array decodes from a map: with keys from 0 up as an array, whose holes are left out unless
  ///   elements are optional; with other keys, such as push ids, the children in key order.
  /// - What is absent decodes as an empty array or dictionary, since the tree holds no empty ones.
  /// - The strategies and their defaults are those of the Apple SDK; a `URL` is a string.
  public final class Decoder {
    /// The form in which `Date` is read.
    public enum DateDecodingStrategy {
      /// As the date itself decodes itself: from a number of seconds since 2001.
      case deferredToDate
      /// From a number of seconds since 1970.
      case secondsSince1970
      /// From a number of milliseconds since 1970, as server timestamps are.
      case millisecondsSince1970
      /// From a string of ISO 8601.
      case iso8601
      /// From a string that a formatter reads.
      case formatted(DateFormatter)
      /// As a function decodes it.
      case custom((any Swift.Decoder) throws -> Date)
    }

    /// The form in which `Data` is read.
    public enum DataDecodingStrategy {
      /// As the data itself decodes itself: from an array of numbers.
      case deferredToData
      /// From a string of base64.
      case base64
      /// As a function decodes it.
      case custom((any Swift.Decoder) throws -> Data)
    }

    /// Whether strings stand for numbers that are not finite, which the tree does not hold.
    public enum NonConformingFloatDecodingStrategy {
      /// A string is no number.
      case `throw`
      /// These strings are read as such numbers.
      case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The names from which coding keys are read.
    public typealias KeyDecodingStrategy = ConiferEngine.KeyDecodingStrategy

    /// How dates are read: as the date decodes itself unless set.
    public var dateDecodingStrategy = DateDecodingStrategy.deferredToDate
    /// How bytes are read: from base64 unless set.
    public var dataDecodingStrategy = DataDecodingStrategy.base64
    /// Whether strings stand for numbers that are not finite: no unless set.
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.throw
    /// Which children keys are read from: those of the same names unless set.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    /// What types are told while they decode.
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    /// A decoder.
    public init() {}

    /// The value that some data means.
    ///
    /// - Parameters:
    ///   - type: what to make of it.
    ///   - structure: data as ``DataSnapshot/value`` gives it.
    /// - Throws: `coding`; the message names the place within the data.
    public func decode<Value: Decodable>(
      _ type: Value.Type, from structure: Any
    ) throws(DatabaseError) -> Value {
      let node: Node
      do throws(TreeError) {
        node = try ValueReader.node(structure, at: .root)
      } catch {
        throw DatabaseError(.coding, error.message, cause: error.code.rawValue)
      }
      return try decode(type, from: node)
    }

    /// The value that a node means.
    ///
    /// - Parameters:
    ///   - type: what to make of it.
    ///   - node: the data.
    /// - Throws: `coding`; the message names the place within the node.
    public func decode<Value: Decodable>(
      _ type: Value.Type, from node: Node
    ) throws(DatabaseError) -> Value {
      do {
        return try NodeDecoding(node: node, codingPath: [], decoder: self).decode(type)
      } catch {
        throw DatabaseError(coding: error, "decoded as \(type)")
      }
    }
  }
}

/// A decoder at one node.
struct NodeDecoding: ContentDecoding {
  let node: Node
  let codingPath: [any CodingKey]
  let decoder: Database.Decoder
  /// Whether keys are an app's data, which stays as it is, rather than names of a type's members.
  var keepsKeys = false

  var userInfo: [CodingUserInfoKey: Any] { decoder.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard !node.isLeaf else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(KeyedContentContainer<_, Key>(self, members))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard !node.isLeaf else { throw mismatch([Any].self) }
    return UnkeyedContentContainer(self, elements)
  }

  func nested(_ node: Node?, _ key: any CodingKey) -> NodeDecoding {
    NodeDecoding(node: node ?? .empty, codingPath: codingPath + [key], decoder: decoder)
  }

  // What is absent is nil; a required value says itself that it is missing.
  func check(_ node: Node?, _ key: any CodingKey, _ type: Any.Type) {}

  func isHole(_ element: Node) -> Bool { element.isEmpty }

  /// The value that the node means; types that have a form of their own in the tree come first.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let special: Any? =
      switch type {
      case is Date.Type: try date()
      case is Data.Type: try data()
      case is URL.Type: try convert(String.self) { URL(string: $0) }
      case is Decimal.Type: Decimal(try decode(Double.self))
      default: nil
      }
    // A cast of nil is avoided: it would succeed as the nil of an optional type.
    if let special, let value = special as? Value { return value }
    return try decodePlain(type)
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "the data there is \(node.debugDescription)")
    return node.isEmpty ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

// What is within.
extension NodeDecoding {
  /// The children by key, or by the keys that a strategy makes of their names.
  private var members: NamedContent<Node> {
    let node = node
    guard !keepsKeys, let name = decoder.keyDecodingStrategy.naming(at: codingPath) else {
      return NamedContent {
        node.children.map(\.key.string)
      } content: { name in
        let child = node[Key(name)]
        return child.isEmpty ? nil : child
      }
    }
    // Of two names that make one key the first counts.
    let renamed = Dictionary(
      node.children.map { (name($0.key.string), $0.node) }, uniquingKeysWith: { first, _ in first })
    return NamedContent {
      Array(renamed.keys)
    } content: {
      renamed[$0]
    }
  }

  /// The children one after the other; empty ones are the holes of an array, of which the last element is none.
  private var elements: [Node] {
    var elements: [Node] = []
    let isArray = node.childCount > 0 && node.isArray
    node.forEachChild { key, child in
      if isArray, let index = key.integer {
        while elements.count < Int(index) { elements.append(.empty) }
      }
      elements.append(child)
    }
    return elements
  }
}

// What strategies decide.
extension NodeDecoding {
  private func date() throws -> Date {
    switch decoder.dateDecodingStrategy {
    case .deferredToDate: try Date(from: self)
    case .secondsSince1970: Date(timeIntervalSince1970: try decode(Double.self))
    case .millisecondsSince1970: Date(timeIntervalSince1970: try decode(Double.self) / 1000)
    case .iso8601: try convert(String.self) { try? Date($0, strategy: .iso8601) }
    case .formatted(let formatter): try convert(String.self) { formatter.date(from: $0) }
    case .custom(let decode): try decode(self)
    }
  }

  private func data() throws -> Data {
    switch decoder.dataDecodingStrategy {
    case .deferredToData: try Data(from: self)
    case .base64: try convert(String.self) { Data(base64Encoded: $0) }
    case .custom(let decode): try decode(self)
    }
  }

  /// The number that is not finite for which a string stands.
  private func number(of text: String) -> Double? {
    guard
      case .convertFromString(let positive, let negative, let nan) =
        decoder.nonConformingFloatDecodingStrategy
    else { return nil }
    switch text {
    case positive: return .infinity
    case negative: return -.infinity
    case nan: return .nan
    default: return nil
    }
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
    if case .string(let text)? = node.leaf, let value = number(of: text) { return value }
    guard let value = node.leaf?.number else { throw mismatch(type) }
    return value
  }

  var number: DecodedNumber? {
    switch node.leaf {
    case .integer(let number)?: .integer(number)
    case .double(let number)?: .double(number)
    default: nil
    }
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
