import ConiferDocument

/// A write of a program that is killed: its name tells what it does, and a document of its own whether it was made.
struct KilledWrite {
  enum Kind: String {
    /// It adds one to a counter, too.
    case counting
    /// It adds an element of its own to a set, too.
    case joining
    /// It is larger than a page of a store, and replaces what others write.
    case large
    /// The server refuses it.
    case refused

    static let all: [Kind] = [.counting, .counting, .joining, .large, .refused]
  }

  static let collections = ["log", "counters", "sets", "large"]

  let name: String
  let kind: Kind

  init(_ name: String, _ kind: Kind) {
    self.name = "\(name)-\(kind.rawValue)"
    self.kind = kind
  }

  /// The write of a name.
  init?(name: String) {
    guard let kind = name.split(separator: "-").last.flatMap({ Kind(rawValue: String($0)) }) else {
      return nil
    }
    self.name = name
    self.kind = kind
  }

  /// Whose it is: the client's name.
  var client: String { String(name.prefix { $0 != "-" }) }

  static func query(_ collection: String) throws -> DocumentQuery {
    DocumentQuery(.collection(try CollectionPath(collection)), in: ClientProgram.database)
  }

  func mutations(by user: String) throws -> [Mutation] {
    let log = try Mutation.set(
      DocumentPath("log/\(name)"), [("by", .value(.string(user)))], in: ClientProgram.database)
    let other: Mutation =
      switch kind {
      case .counting: try merge("counters/c", [("n", .increment(1))])
      case .joining: try merge("sets/s", [("of", .arrayUnion([.string(name)]))])
      case .large:
        try merge("large/l", [("text", .value(.string(String(repeating: name, count: 800))))])
      case .refused: try merge("forbidden/f", [("n", .increment(1))])
      }
    return [log, other]
  }

  private func merge(_ path: String, _ data: [(String, WriteValue)]) throws -> Mutation {
    try Mutation.merge(DocumentPath(path), data, in: ClientProgram.database)
  }
}
