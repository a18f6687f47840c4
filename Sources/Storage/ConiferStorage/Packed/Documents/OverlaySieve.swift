import ConiferDocument
import ConiferKeyValue

/// A test whether the document of an overlay may belong to a target, from the bytes of the overlay's row.
struct OverlaySieve {
  /// What a row tells of its document.
  enum Result {
    /// It does not match, whatever the server says of it.
    case outside
    /// It may match. What the server says of it must meet these conditions; nil when the writes set all fields.
    case mayMatch([FieldCondition]?)
  }

  /// What an overlay does to the field of a condition.
  private enum Change {
    case untouched
    /// Something within it is written.
    case within
    /// All of it is written.
    case whole
  }

  /// Conditions that every document that matches meets, by the names of their fields.
  private let conditions: [FieldCondition]
  private let fields: FieldSelection

  init(_ target: DocumentTarget) {
    conditions = FieldCondition.all(target.filter)
    fields = FieldSelection(conditions.map(\.filter.field))
  }

  /// What a row tells; bytes that hold no overlay may match, and decoding reports them.
  ///
  /// - Parameter content: the row's bytes behind the path.
  func result(_ content: LentReader) -> Result {
    var reader = content
    switch reader.byte().map({ $0 & ~OverlayRows.Effect.hasStampedMask }) {
    case OverlayRows.Effect.delete: return .outside
    case OverlayRows.Effect.set:
      if !conditions.isEmpty, DocumentValueCodec.fails(&reader, conditions) { return .outside }
      return .mayMatch(nil)
    case OverlayRows.Effect.patch: return patch(&reader) ?? .mayMatch([])
    default: return .mayMatch([])
    }
  }

  /// What a row tells that writes some fields; nil for bytes that hold no such overlay.
  private func patch(_ reader: inout LentReader) -> Result? {
    guard !conditions.isEmpty else { return .mayMatch([]) }
    guard let written = DocumentValueCodec.map(&reader, fields) else { return nil }
    var untouched = 0
    for condition in conditions {
      switch Self.change(of: condition, in: reader) {
      case .untouched: untouched += 1
      case .within: break
      case .whole:
        // What is listed and not written is deleted.
        guard let value = written[condition.filter.field], condition.filter.matches(value) else {
          return .outside
        }
      case nil: return nil
      }
    }
    // Most writes touch none of the fields, or all of them.
    if untouched == conditions.count { return .mayMatch(conditions) }
    return .mayMatch(conditions.filter { Self.change(of: $0, in: reader) == .untouched })
  }

  /// What a mask says of the field of a condition; nil for bytes that hold none.
  private static func change(of condition: FieldCondition, in mask: LentReader) -> Change? {
    var reader = mask
    var change = Change.untouched
    guard let count = reader.size(), count <= reader.remaining else { return nil }
    for _ in 0..<count {
      guard let depth = reader.size(), depth > 0, let name = reader.sized() else { return nil }
      for _ in 1..<depth {
        guard reader.sized() != nil else { return nil }
      }
      if condition.name.withUnsafeBytes({ compareBytes(name, $0) == 0 }) {
        change = depth == 1 ? .whole : .within
      }
    }
    return change
  }
}
