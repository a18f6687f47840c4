import ConiferDocument
import ConiferStorage
import ConiferWire

/// Writes to documents in the output of the queue's commands.
extension MutationBatch {
  /// The first document, and how many others there are.
  var place: String {
    let paths = paths
    let others = paths.count > 1 ? " and \(Figures.count(paths.count - 1)) more" : ""
    return "\(paths.first.map { "\($0)" } ?? "")\(others)"
  }

  /// The members that show the batch whole.
  var members: [(String, Report)] {
    [("writes", .list(mutations.map { .object($0.members) }))]
      + (bases.isEmpty
        ? [] : [("incrementedFrom", .list(bases.map { .object($0.members) }))])
  }
}

extension Mutation {
  fileprivate var members: [(String, Report)] {
    var members: [(String, Report)] = [
      ("document", .string(path.description)), ("kind", .string(kindName)),
    ]
    switch precondition {
    case .none: break
    case .exists(let exists): members.append(("ifExists", .bool(exists)))
    case .updateTime(let time): members.append(("ifUpdatedAt", .string(time.rfc3339)))
    }
    switch change {
    case .set(let fields, _): members.append(("fields", Report(.map(fields))))
    case .patch(let fields, let mask, _):
      let values = mask.paths.map { ($0.canonical, fields[$0]) }
      members.append(
        ("fields", .object(values.compactMap { name, value in value.map { (name, Report($0)) } })))
      let deleted = values.filter { $0.1 == nil }
      if !deleted.isEmpty {
        members.append(("deleted", .list(deleted.map { .string($0.0) })))
      }
    case .delete, .verify: break
    }
    if !transforms.isEmpty {
      members.append(
        (
          "transforms",
          .list(
            transforms.map {
              .object([("field", .string($0.field.canonical)), $0.operation.member])
            })
        ))
    }
    return members
  }
}

extension FieldTransform.Operation {
  fileprivate var member: (String, Report) {
    switch self {
    case .serverTimestamp: ("serverTimestamp", .bool(true))
    case .increment(let number): ("increment", Report(DocumentValue(number)))
    case .minimum(let number): ("minimum", Report(DocumentValue(number)))
    case .maximum(let number): ("maximum", Report(DocumentValue(number)))
    case .arrayUnion(let values): ("arrayUnion", .list(values.map { Report($0) }))
    case .arrayRemove(let values): ("arrayRemove", .list(values.map { Report($0) }))
    }
  }
}
