import ConiferDocument
import ConiferWire

/// What the documents of a database were at each time, by the client's reading of what writes do.
struct PlainModel {
  private(set) var documents: [DocumentPath: Document] = [:]

  /// Makes writes as of a time.
  mutating func make(_ writes: [Mutation], at time: Timestamp) {
    for write in writes { documents[write.path] = after(write, at: time) }
  }

  private func after(_ write: Mutation, at time: Timestamp) -> Document {
    let before = documents[write.path] ?? Document(write.path, .missing)
    if write.change == .verify { return before }
    let after = write.applied(to: before, written: time)
    guard let fields = after.fields else { return Document(write.path, .missing) }
    let settled = Self.settled(fields, at: time)
    if before.fields == settled { return before }
    return Document(write.path, .found(settled), version: time)
  }

  private static func settled(_ fields: MapValue, at time: Timestamp) -> MapValue {
    MapValue(fields.fields.map { ($0.name, settled($0.value, at: time)) })
  }

  private static func settled(_ value: DocumentValue, at time: Timestamp) -> DocumentValue {
    switch value {
    case .serverTimestamp: .timestamp(time)
    case .map(let map): .map(settled(map, at: time))
    default: value
    }
  }

  /// With which code writes are refused; nil when they are made.
  func refusal(_ writes: [Mutation]) -> StatusCode? {
    var model = self
    for write in writes {
      let document = model.documents[write.path] ?? Document(write.path, .missing)
      switch write.precondition {
      case .exists(true) where document.fields == nil: return .notFound
      case .exists(false) where document.fields != nil: return .alreadyExists
      case .updateTime(let time) where document.fields == nil || document.version != time:
        return .failedPrecondition
      case .none, .exists, .updateTime: break
      }
      model.make([write], at: Timestamp(unchecked: 4_000_000_000, 0))
    }
    return nil
  }

  /// What a query gives, in its order.
  func evaluate(_ query: DocumentQuery) -> [Document] { query.evaluate(documents.values) }
}
