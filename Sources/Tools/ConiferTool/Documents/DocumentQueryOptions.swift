import ArgumentParser
import ConiferDocument

/// A query of documents on the command line.
struct DocumentQueryOptions: ParsableArguments {
  @Flag(help: "Query all collections with this id, wherever they are.")
  var group = false
  @Option(name: .customLong("where"), help: "A condition: 'field operator value'. May repeat.")
  var conditions: [String] = []
  @Option(help: "A field to sort by, with :desc behind it from the greatest on. May repeat.")
  var orderBy: [String] = []
  @Option(help: "Keep the first documents.")
  var limit: Int?
  @Option(help: "Keep the last documents; needs --order-by.")
  var limitToLast: Int?
  @Option(
    parsing: .unconditionalSingleValue,
    help: "Start at a value in JSON, of the first --order-by; repeated, of the next ones.")
  var startAt: [String] = []
  @Option(parsing: .unconditionalSingleValue, help: "Start after a value in JSON. May repeat.")
  var startAfter: [String] = []
  @Option(parsing: .unconditionalSingleValue, help: "End at a value in JSON. May repeat.")
  var endAt: [String] = []
  @Option(parsing: .unconditionalSingleValue, help: "End before a value in JSON. May repeat.")
  var endBefore: [String] = []
  @Flag(help: "Values and documents are in the form of the REST API.")
  var typed = false

  func validate() throws {
    guard limit == nil || limitToLast == nil else {
      throw ValidationError("Give one of --limit and --limit-to-last.")
    }
    guard startAt.isEmpty || startAfter.isEmpty, endAt.isEmpty || endBefore.isEmpty else {
      throw ValidationError(
        "Give one of --start-at and --start-after, and one of --end-at and --end-before.")
    }
  }

  /// The query, with Firestore's rules of what may go together.
  func query(_ collection: String, in database: DatabaseID) throws -> DocumentQuery {
    var query = DocumentQuery(try source(collection), in: database)
    for condition in conditions {
      query = try query.filtered(try DocumentInput.filter(condition, typed: typed))
    }
    for order in orderBy {
      let order = try DocumentInput.order(order)
      query = try query.ordered(by: order.field, order.direction)
    }
    if let limit { query = try query.limited(to: limit) }
    if let limitToLast { query = try query.limited(toLast: limitToLast) }
    if !startAt.isEmpty { query = try query.starting(at: values(startAt)) }
    if !startAfter.isEmpty { query = try query.starting(after: values(startAfter)) }
    if !endAt.isEmpty { query = try query.ending(at: values(endAt)) }
    if !endBefore.isEmpty { query = try query.ending(before: values(endBefore)) }
    try query.validate()
    return query
  }

  private func source(_ collection: String) throws -> DocumentQuery.Source {
    let path = try CollectionPath(collection)
    guard group else { return .collection(path) }
    guard path.parent == nil else {
      throw Failure.usage(
        "\(collection) is a path, and --group takes the id of collections: \(path.id).")
    }
    return .group(path.id)
  }

  private func values(_ texts: [String]) throws -> [DocumentValue] {
    try texts.map { try DocumentInput.value($0, typed: typed) }
  }
}

/// Numbers that are printed in place of a query's documents.
struct AggregateOptions: ParsableArguments {
  @Flag(help: "Print how many documents there are.")
  var count = false
  @Option(help: "Print the sum of a field. May repeat.")
  var sum: [String] = []
  @Option(help: "Print the average of a field. May repeat.")
  var average: [String] = []

  /// What is to be computed, each once; nothing when the documents are wanted.
  func wanted() throws -> [Aggregate] {
    let all =
      try (count ? [.count] : []) + sum.map { Aggregate.sum(try DocumentInput.field($0)) }
      + average.map { .average(try DocumentInput.field($0)) }
    var seen: Set<Aggregate> = []
    let wanted = all.filter { seen.insert($0).inserted }
    if !wanted.isEmpty { try Aggregate.check(wanted) }
    return wanted
  }
}
