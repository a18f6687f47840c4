import ConiferQuery
import ConiferTree
import Foundation
import Testing

/// A case of a scenario file: steps, each with the events that it raises.
struct Scenario: Sendable, CustomTestStringConvertible {
  struct Event: Sendable {
    let path: Path
    let type: String
    let name: String?
    let previous: String?
    let data: Node
  }

  struct Step: Sendable {
    let type: String
    let path: Path
    let data: Node
    /// The members of `data`, for updates and merges.
    let changes: [NodeChange]
    let spec: QuerySpec
    let tag: Int?
    /// The filtered listen that news of the server belong to.
    let serverTag: Int?
    let callback: Int?
    let write: Int
    let isVisible: Bool
    let isRevert: Bool
    let events: [Event]
  }

  let name: String
  let steps: [Step]

  var testDescription: String { name }

  /// The cases of a file; a file or a case that cannot be read is one that fails.
  static func all(of file: URL) -> [Result<Scenario, ScenarioError>] {
    guard let data = try? Data(contentsOf: file),
      let json = try? JSONSerialization.jsonObject(with: data)
    else { return [.failure(ScenarioError("\(file.path) is no JSON"))] }
    let cases = json as? [Any] ?? (json as? [String: Any])?["test_cases"] as? [Any] ?? []
    if cases.isEmpty { return [.failure(ScenarioError("\(file.path) holds no cases"))] }
    return cases.map { item in
      do {
        return .success(try Scenario(Fields(item)))
      } catch {
        return .failure(ScenarioError("\((item as? [String: Any])?["name"] ?? "?"): \(error)"))
      }
    }
  }

  private init(_ fields: Fields) throws {
    name = try fields.text("name")
    steps = try fields.list("steps").map { try Step(Fields($0)) }
  }
}

struct ScenarioError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

extension Scenario.Step {
  fileprivate init(_ fields: Fields) throws {
    type = try fields.text("type")
    path = Path(fields.members["path"] as? String ?? "")
    data = try fields.node("data")
    changes = try (fields.members["data"] as? [String: Any] ?? [:]).sorted { $0.key < $1.key }
      .map { NodeChange(Path($0.key), try Fields.node($0.value)) }
    let params = fields.members["params"] as? [String: Any]
    spec = try params.map { try Scenario.Step.spec($0) } ?? .default
    tag = params?["tag"] as? Int
    serverTag = fields.members["tag"] as? Int
    callback = fields.members["callbackId"] as? Int
    write = fields.members["writeId"] as? Int ?? 0
    isVisible = fields.members["visible"] as? Bool ?? true
    isRevert = fields.members["revert"] as? Bool ?? false
    events = try fields.list("events").map { try Scenario.Event(Fields($0)) }
  }

  private static func spec(_ params: [String: Any]) throws -> QuerySpec {
    var spec = QuerySpec.default
    switch params["orderBy"] as? String {
    case nil: break
    case "$key"?, ".key"?: spec = try spec.ordered(by: .key)
    case let path?: spec = try spec.ordered(byChild: path)
    }
    if params["orderByKey"] as? Bool == true { spec = try spec.ordered(by: .key) }
    if params["orderByValue"] as? Bool == true { spec = try spec.ordered(by: .value) }
    if params["orderByPriority"] as? Bool == true { spec = try spec.ordered(by: .priority) }
    for (name, param) in params {
      switch (name, param) {
      case ("tag", is Int), ("orderBy", is String): break
      case ("orderByKey", is Bool), ("orderByValue", is Bool), ("orderByPriority", is Bool): break
      case ("limitToFirst", let count as Int): spec = try spec.limited(toFirst: count)
      case ("limitToLast", let count as Int): spec = try spec.limited(toLast: count)
      case (_, let bound as [String: Any]): spec = try spec.bounded(name, try Fields(bound))
      default: throw ScenarioError("The parameter \(name) is not known.")
      }
    }
    return spec
  }
}

extension QuerySpec {
  fileprivate func bounded(_ name: String, _ bound: Fields) throws -> QuerySpec {
    let value = try bound.node("index").leaf
    let key = (bound.members["name"] as? String).map { Key($0) }
    return switch name {
    case "startAt": try starting(at: value, key: key)
    case "startAfter": try starting(after: value, key: key)
    case "endAt": try ending(at: value, key: key)
    case "endBefore": try ending(before: value, key: key)
    case "equalTo": try equal(to: value, key: key)
    default: throw ScenarioError("The parameter \(name) is not known.")
    }
  }
}

extension Scenario.Event {
  fileprivate init(_ fields: Fields) throws {
    path = Path(try fields.text("path"))
    type = try fields.text("type")
    name = fields.members["name"] as? String
    previous = fields.members["prevName"] as? String
    data = try fields.node("data")
  }
}

/// The members of a JSON object.
private struct Fields {
  let members: [String: Any]

  init(_ json: Any) throws {
    guard let members = json as? [String: Any] else { throw ScenarioError("No object: \(json)") }
    self.members = members
  }

  func text(_ name: String) throws -> String {
    guard let text = members[name] as? String else { throw ScenarioError("No text \(name).") }
    return text
  }

  func list(_ name: String) throws -> [Any] {
    guard let list = members[name] as? [Any] else { throw ScenarioError("No list \(name).") }
    return list
  }

  func node(_ name: String) throws -> Node {
    try members[name].map { try Fields.node($0) } ?? .empty
  }

  static func node(_ json: Any) throws -> Node {
    let data = try JSONSerialization.data(withJSONObject: json, options: .fragmentsAllowed)
    return try Node(json: [UInt8](data))
  }
}
