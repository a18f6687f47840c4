/// When the server last spoke for the data of a view, by its own time in milliseconds since 1970, and whether its listen
/// stands.
enum ServerContact: Hashable, Sendable {
  /// Nothing is known of it.
  case none
  /// It told all of the data or a change, and may no longer tell the next one.
  case past(Int64)
  /// It told all of the data and tells each change; the time of the last one.
  case current(Int64)

  /// When the server last spoke.
  var time: Int64? {
    switch self {
    case .none: nil
    case .past(let time), .current(let time): time
    }
  }

  /// Whether the server tells each change.
  var isCurrent: Bool { if case .current = self { true } else { false } }

  /// The server told the view something.
  ///
  /// - Parameters:
  ///   - time: when.
  ///   - isWhole: whether that was all of the data. A part from another listen does not make the rest any newer.
  mutating func hear(at time: Int64, isWhole: Bool) {
    if isWhole || isCurrent { self = .current(time) }
  }

  /// The listen no longer stands, as the connection broke, or as another one is to take its place.
  mutating func lapse() {
    if case .current(let time) = self { self = .past(time) }
  }
}
