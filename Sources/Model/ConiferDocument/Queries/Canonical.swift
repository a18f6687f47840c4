extension DocumentTarget {
  /// The target as text: its UTF-8 bytes are the same for targets that are equal, and for no others.
  public var canonical: String {
    var text: String
    switch source {
    case .collection(let path): text = Canonical.escaped(path.path.text)
    case .document(let path): text = Canonical.escaped(path.path.text)
    case .group(let id): text = Canonical.group + Canonical.escaped(id)
    }
    text += "|f:"
    if case .and(let filters) = filter {
      text += filters.map(\.canonical).joined(separator: ",")
    } else if let filter {
      text += filter.canonical
    }
    let orders = orders.map {
      $0.field.canonical + ($0.direction == .ascending ? "asc" : "desc")
    }
    text += "|ob:" + orders.joined(separator: ",")
    if let limit { text += "|l:\(limit)" }
    if let start { text += "|lb:" + (start.isInclusive ? "b:" : "a:") + start.canonical }
    if let end { text += "|ub:" + (end.isInclusive ? "a:" : "b:") + end.canonical }
    return text
  }

  /// The group of collections that a target's canonical text begins with; nil when it reads no group.
  package static func group(ofCanonical text: Substring) -> String? {
    guard text.utf8.starts(with: Canonical.group.utf8) else { return nil }
    var id = String.UnicodeScalarView()
    var isEscaped = false
    for scalar in text.unicodeScalars.dropFirst(Canonical.group.utf8.count) {
      if !isEscaped, scalar == "|" { return String(id) }
      isEscaped = !isEscaped && scalar == "\\"
      if !isEscaped { id.append(scalar) }
    }
    return nil
  }
}

extension DocumentQuery.Cursor {
  var canonical: String { values.map(Canonical.text).joined(separator: ",") }
}

extension Filter {
  /// The conditions as text.
  var canonical: String {
    func list(_ filters: [Filter]) -> String {
      filters.map(\.canonical).joined(separator: ",")
    }
    switch self {
    case .field(let filter):
      return "\(filter.field.canonical) \(filter.operator.rawValue) \(Canonical.text(filter.value))"
    case .and(let filters): return "and(\(list(filters)))"
    case .or(let filters): return "or(\(list(filters)))"
    }
  }
}

/// Values as text that tells them apart as `==` does.
enum Canonical {
  /// What stands before the id of a group.
  static let group = "|cg:"

  static func text(_ value: DocumentValue) -> String {
    switch value {
    case .null: return "null"
    case .boolean(let value): return value ? "true" : "false"
    case .integer(let value): return "\(value)"
    case .double(let value): return text(value)
    case .timestamp(let time): return "time(\(time.seconds),\(time.nanoseconds))"
    case .serverTimestamp(let written, let previous):
      let time = "\(written.seconds),\(written.nanoseconds)"
      return "pending(\(time)\(previous.map { "," + text($0) } ?? ""))"
    case .string(let text): return quoted(text)
    case .bytes(let bytes): return "bytes(\(bytes.map { "\($0)" }.joined(separator: ",")))"
    case .reference(let name): return "ref(\(quoted(name.description)))"
    case .geoPoint(let point): return "geo(\(text(point.latitude)),\(text(point.longitude)))"
    case .array(let values): return "[\(values.map(text).joined(separator: ","))]"
    case .vector(let numbers): return "vector(\(numbers.map(text).joined(separator: ",")))"
    case .map(let map):
      let fields = map.fields.map { quoted($0.name) + ":" + text($0.value) }
      return "{\(fields.joined(separator: ","))}"
    }
  }

  /// The shortest digits that read back as the same double; a whole one has a fraction.
  private static func text(_ value: Double) -> String { value.isNaN ? "nan" : "\(value)" }

  private static func quoted(_ text: String) -> String { "\"" + escaped(text, "\"") + "\"" }

  /// A text with `\` before each mark and before itself.
  static func escaped(_ text: String, _ mark: Unicode.Scalar = "|") -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar == mark || scalar == "\\" { scalars.append("\\") }
      scalars.append(scalar)
    }
    return String(scalars)
  }
}
