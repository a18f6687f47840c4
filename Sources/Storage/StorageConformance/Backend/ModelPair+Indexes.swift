internal import ConiferKeyValue
internal import ConiferQuery
internal import ConiferStorage
internal import ConiferTree

extension ModelPair {
  /// The answer of a query of the first tree.
  func query(_ path: Path, _ spec: QuerySpec) throws -> QueryAnswer {
    let tree = tree
    return try backend.read { (view) throws(StoreError) in try view.query(tree, path, spec) }
  }

  /// Requires that a query's answer is its answer for the model's whole node.
  @discardableResult
  func requireAnswers(
    _ path: Path, _ spec: QuerySpec, _ when: @autoclosure () -> String = ""
  ) throws -> QueryExplanation {
    let answer = try query(path, spec)
    let expected = spec.evaluate(try ModelView(model).node(tree, path, .all))
    let words = "the query \(spec) of \(path) \(when())"
    let (found, wanted) = (answer.children.map(\.key), expected.map(\.key))
    if found != wanted {
      throw ConformanceFailure(
        .wrongData,
        "\(words) gives \(found.count) children, not \(wanted.count), by \(answer.explanation); "
          + Self.difference(found, wanted))
    }
    for (child, other) in zip(answer.children, expected) {
      if let bad = child.node.difference(from: other.node) {
        throw ConformanceFailure(.wrongData, "\(words) gives another \(child.key): \(bad)")
      }
    }
    try requireEqual(answer.explanation.children, expected.count, "the count of \(words)")
    return answer.explanation
  }

  /// Requires the same of many random queries of a node.
  func requireAnswers(
    _ path: Path, _ count: Int, _ random: inout SeededRandom, _ when: @autoclosure () -> String
  ) throws {
    let node = try ModelView(model).node(tree, path, .all)
    for _ in 0..<count { try requireAnswers(path, random.query(of: node), when()) }
  }

  private static func difference(_ found: [Key], _ wanted: [Key]) -> String {
    let place = zip(found, wanted).enumerated().first { $1.0 != $1.1 }?.offset
    let at = place ?? min(found.count, wanted.count)
    func name(_ keys: [Key]) -> String {
      at < keys.count ? "\"\(keys[at].string.prefix(60))\"" : "nothing"
    }
    return "at \(at) it has \(name(found)) in place of \(name(wanted))"
  }
}
