/// What all batches that wait do to one document, in one step.
public struct Overlay: Sendable, Hashable {
  /// What is done.
  public enum Effect: Sendable, Hashable {
    /// The document has these fields, whatever it had.
    case set(MapValue)
    /// The fields of the mask are as in the map; those that it lacks are deleted.
    case patch(MapValue, FieldMask)
    /// The document is deleted.
    case delete
  }

  /// The document.
  public let path: DocumentPath
  /// What is done to it.
  public let effect: Effect

  /// An overlay as a store holds it.
  public init(_ path: DocumentPath, _ effect: Effect) {
    self.path = path
    self.effect = effect
  }

  /// The effect of batches on a document.
  ///
  /// - Parameters:
  ///   - batches: the batches, in order; what they do elsewhere is of no matter.
  ///   - base: the document as the server last sent it.
  /// - Returns: the overlay; none when no write takes place.
  public init?(of batches: some Sequence<MutationBatch>, over base: Document) {
    var document = base
    // The fields that were touched; none once the whole document was.
    var touched: FieldMask? = .empty
    var isWritten = false
    for batch in batches {
      for mutation in batch.writes(to: base.path) where mutation.precondition.holds(for: document) {
        document = mutation.applied(to: document, written: batch.written)
        switch mutation.change {
        case .set, .delete: touched = nil
        case .patch(_, let mask, let transforms):
          touched = touched?.union(mask.paths).union(transforms.map(\.field))
        case .verify: continue
        }
        isWritten = true
      }
    }
    guard isWritten else { return nil }
    guard let fields = document.fields else {
      self.init(base.path, .delete)
      return
    }
    guard let touched else {
      self.init(base.path, .set(fields))
      return
    }
    let places = touched.paths.compactMap { Overlay.place($0, in: fields, over: base.fields) }
    let mask = FieldMask(places)
    self.init(base.path, .patch(MapValue.empty.taking(mask, from: fields), mask))
  }

  /// The document as it is shown until the server has answered.
  public func applied(to document: Document) -> Document {
    switch effect {
    case .set(let fields): return document.pending(.found(fields))
    case .delete: return document.pending(.missing)
    case .patch(let fields, let mask):
      return document.pending(.found((document.fields ?? .empty).taking(mask, from: fields)))
    }
  }

  /// The place that must be taken from the result so that a touched field is as in it.
  ///
  /// It is the field itself when it is there. A field that is gone is deleted; but where the map
  /// around it came with the writes, that map must come too, be it empty.
  private static func place(
    _ field: FieldPath, in result: MapValue, over base: MapValue?
  ) -> FieldPath? {
    var around = result
    for (index, name) in field.names.enumerated() {
      guard let value = around[name] else {
        guard index > 0 else { return FieldPath(unchecked: [name]) }
        let parent = FieldPath(unchecked: Array(field.names[..<index]))
        return base?[parent]?.map == nil ? parent : parent.appending(name)
      }
      if index == field.names.count - 1 { return field }
      // What is no map here was put here by another field's write, or was here before.
      guard let map = value.map else { return nil }
      around = map
    }
    return nil
  }
}
