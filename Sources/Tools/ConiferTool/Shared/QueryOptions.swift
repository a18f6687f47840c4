import ArgumentParser
import ConiferQuery
import ConiferStorage
import ConiferTree

/// A query on the command line.
struct QueryOptions: ParsableArguments {
  @Option(help: "Order by the value at a path below each child.")
  var orderByChild: String?
  @Flag(help: "Order by key.")
  var orderByKey = false
  @Flag(help: "Order by the children's own values.")
  var orderByValue = false
  @Flag(help: "Order by priority, the default.")
  var orderByPriority = false

  @Option(parsing: .unconditional, help: "Start at a value in JSON.")
  var startAt: String?
  @Option(parsing: .unconditional, help: "Start after a value in JSON.")
  var startAfter: String?
  @Option(parsing: .unconditional, help: "End at a value in JSON.")
  var endAt: String?
  @Option(parsing: .unconditional, help: "End before a value in JSON.")
  var endBefore: String?
  @Option(parsing: .unconditional, help: "Keep what equals a value in JSON.")
  var equalTo: String?

  @Option(help: "Keep the first children.")
  var limitToFirst: Int?
  @Option(help: "Keep the last children.")
  var limitToLast: Int?

  /// The query, with the Realtime Database's rules of what may go together.
  func spec() throws -> QuerySpec {
    var spec = QuerySpec.default
    if let orderByChild { spec = try spec.ordered(byChild: orderByChild) }
    if orderByKey { spec = try spec.ordered(by: .key) }
    if orderByValue { spec = try spec.ordered(by: .value) }
    if orderByPriority { spec = try spec.ordered(by: .priority) }
    if let startAt { spec = try spec.starting(at: bound(startAt)) }
    if let startAfter { spec = try spec.starting(after: bound(startAfter)) }
    if let endAt { spec = try spec.ending(at: bound(endAt)) }
    if let endBefore { spec = try spec.ending(before: bound(endBefore)) }
    if let equalTo { spec = try spec.equal(to: bound(equalTo)) }
    if let limitToFirst { spec = try spec.limited(toFirst: limitToFirst) }
    if let limitToLast { spec = try spec.limited(toLast: limitToLast) }
    return spec
  }

  /// A bound's value; a key needs no quotes, since it cannot be anything else.
  private func bound(_ text: String) throws -> Leaf? {
    if orderByKey, text.utf8.first != UInt8(ascii: "\"") { return .string(text) }
    let node: Node
    do {
      node = try Node(json: text)
    } catch {
      throw Failure.usage("The bound \(text) is no JSON; a string needs quotes: '\"\(text)\"'.")
    }
    guard node.isEmpty || node.isLeaf else {
      throw Failure.usage("The bound \(text) is no leaf: a string, a number, a boolean or null.")
    }
    return node.leaf
  }
}
