import ConiferDocument
import ConiferWire

/// Writes to documents in words, for the page.
extension MutationBatch {
  /// What its first writes do.
  ///
  /// - Parameter most: how many writes are told.
  func words(most: Int = 4) -> String {
    let told = mutations.prefix(most).map(\.words)
    let rest = mutations.count - told.count
    return told.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more writes" : "")
  }
}

extension Mutation {
  /// What the write does, with the names and values of its first fields.
  fileprivate var words: String {
    var parts: [String] = []
    let verb: String
    switch change {
    case .set(let fields, _):
      verb = "set"
      parts = fields.words
    case .patch(let fields, let mask, _):
      verb = precondition == .none ? "merge" : "update"
      parts = fields.words(of: mask)
    case .delete: verb = "delete"
    case .verify: verb = "verify"
    }
    parts += transforms.map(\.words)
    switch precondition {
    case .none: break
    // An update always asks for that.
    case .exists(true): if case .patch = change {} else { parts.append("if it exists") }
    case .exists(false): parts.append("if it does not exist")
    case .updateTime(let time): parts.append("if unchanged since \(time.rfc3339)")
    }
    return "\(verb) \(path)" + (parts.isEmpty ? "" : ": \(parts.pageList)")
  }
}

extension Overlay {
  /// What becomes of the document.
  var words: String {
    switch effect {
    case .set(let fields): "is " + (fields.isEmpty ? "empty" : fields.words.pageList)
    case .patch(let fields, let mask): fields.words(of: mask).pageList
    case .delete: "deleted"
    }
  }
}

extension FieldTransform {
  fileprivate var words: String {
    let name = field.canonical
    return switch operation {
    case .serverTimestamp: "\(name) = the server's time"
    case .increment(let number): "\(name) + \(DocumentValue(number).words)"
    case .minimum(let number): "\(name) at most \(DocumentValue(number).words)"
    case .maximum(let number): "\(name) at least \(DocumentValue(number).words)"
    case .arrayUnion(let values): "\(name) with \(values.map(\.words).pageList)"
    case .arrayRemove(let values): "\(name) without \(values.map(\.words).pageList)"
    }
  }
}

extension MapValue {
  fileprivate var words: [String] { fields.map { "\($0.name) = \($0.value.words)" } }

  /// The fields of a mask; those that the map lacks are deleted.
  fileprivate func words(of mask: FieldMask) -> [String] {
    mask.paths.map { path in
      self[path].map { "\(path.canonical) = \($0.words)" } ?? "\(path.canonical) deleted"
    }
  }
}

extension DocumentValue {
  /// The value, cut where it is long.
  fileprivate var words: String {
    switch self {
    case .null: return "null"
    case .boolean(let flag): return "\(flag)"
    case .integer(let number): return "\(number)"
    case .double(let number): return "\(number)"
    case .string(let text):
      let cut = text.prefix(40)
      return "\"\(cut)\(cut.endIndex == text.endIndex ? "" : "…")\""
    case .map(let map): return "{\(map.words.pageList)}"
    case .array(let values): return "[\(values.map(\.words).pageList)]"
    case .timestamp, .serverTimestamp, .bytes, .reference, .geoPoint, .vector:
      return PageItem.words(self)
    }
  }
}

extension [String] {
  /// The first ones, and how many others there are.
  fileprivate var pageList: String {
    let most = 6
    let told = prefix(most).joined(separator: ", ")
    return count > most ? "\(told) and \(count - most) more" : told
  }
}
